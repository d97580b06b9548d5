// Scratch memory in one piece: the same sequence of requests first measures it, then hands it out,
// so that the two cannot diverge.
//
//   template <...> Scratch TakeScratch(Arena& arena, sizes…) { return {arena.Take<float>(n),
//   arena.Take<int>(m)}; } Arena measure(nullptr);  TakeScratch(measure, sizes…);  bytes =
//   measure.bytes(); Arena bind(memory);      auto scratch = TakeScratch(bind, sizes…);

#ifndef TF_WARPCTC_CC_KERNELS_ARENA_H_
#define TF_WARPCTC_CC_KERNELS_ARENA_H_

#include <cstddef>
#include <cstdint>

#include "cc/kernels/simd_level.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

class Arena {
 public:
  // A cache line and the widest vector: what one part starts with, no other part shares.
  static constexpr size_t kAlignment = 64;

  // memory: at least the bytes measured; any alignment. Null to measure.
  explicit Arena(void* memory) : memory_(reinterpret_cast<uintptr_t>(memory)) {
    bytes_ = memory_ == 0 ? 0 : (kAlignment - memory_ % kAlignment) % kAlignment;
  }

  // `count` uninitialised elements, aligned to kAlignment. When measuring, a pointer not to be
  // followed.
  template <typename T>
  T* Take(int64_t count) {
    T* part = reinterpret_cast<T*>(memory_ + bytes_);
    const size_t size = static_cast<size_t>(count) * sizeof(T);
    bytes_ += (size + kAlignment - 1) / kAlignment * kAlignment;
    return part;
  }

  // What has been taken so far, with room to align memory of any alignment.
  size_t bytes() const { return bytes_ + kAlignment; }

 private:
  uintptr_t memory_;
  size_t bytes_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_ARENA_H_
