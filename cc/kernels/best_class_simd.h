// The largest logit of a frame and the class that has it.

#ifndef TF_WARPCTC_CC_KERNELS_BEST_CLASS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_BEST_CLASS_SIMD_H_

#include <cstdint>
#include <limits>

#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct BestClass {
  int32_t index;
  Real logit;  // NaN left out
  bool has_nan;
};

// The pass over V only finds the maximum, and in each lane the block in which it last rose; the
// class is then searched in the first such block, which is still near. To carry a vector of classes
// along would double the instructions of the pass.
template <typename Logit>
WARPCTC_INLINE BestClass<RealOf<Logit>> FindBestClass(const Logit* frame, int64_t num_classes,
                                                      int64_t ahead) {
  using Real = RealOf<Logit>;
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  constexpr int64_t kBlock = kBlockVectors * kLanes<Real>;
  Vec<Real> best = Vec<Real>::Broadcast(-kInfinity);
  // Counted down from 0: the first block is the largest number. Floats count blocks of 256 classes
  // exactly up to 2^32 classes.
  Vec<Real> block_number = Vec<Real>::Broadcast(-kInfinity);
  Vec<Real> checksum = Vec<Real>::Broadcast(0);  // NaN if a logit is, or if infinities cancel
  Real number = 0;
  ForEachBlock(
      frame, num_classes, [&](int64_t, const Logit* block, auto count) WARPCTC_INLINE_LAMBDA {
        Vec<Real> max = Vec<Real>::Broadcast(-kInfinity);
        StreamVectors(block, count, ahead, [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA {
          max = Max(x, max);
          checksum = checksum + x;
        });
        block_number = SelectGreater(max, best, Vec<Real>::Broadcast(number), block_number);
        best = Max(max, best);
        number -= 1;
      });
  const Real logit = HorizontalMax(best);
  bool has_nan = false;
  const Real sum = HorizontalSum(checksum);
  if (sum != sum) {
    for (int64_t v = 0; v < num_classes; ++v) has_nan |= ToReal(frame[v]) != ToReal(frame[v]);
  }
  if (!(logit > -kInfinity)) return {0, logit, has_nan};

  const Vec<Real> logits = Vec<Real>::Broadcast(logit);
  const Vec<Real> none = Vec<Real>::Broadcast(-kInfinity);
  const Real first_number = HorizontalMax(SelectEqual(best, logits, block_number, none));
  const int64_t first = static_cast<int64_t>(-first_number) * kBlock;
  const int64_t count = num_classes - first < kBlock ? num_classes - first : kBlock;
  // Of the lanes' own numbers, counted down likewise, the largest whose logit is the best.
  Real lane[kLanes<Real>];
  for (int i = 0; i < kLanes<Real>; ++i) lane[i] = static_cast<Real>(-i);
  Vec<Real> position = Vec<Real>::Load(lane);
  Vec<Real> found = none;
  ForEachVector(frame + first, count, [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA {
    found = Max(SelectEqual(x, logits, position, none), found);
    position = position - Vec<Real>::Broadcast(kLanes<Real>);
  });
  const int64_t index = first + static_cast<int64_t>(-HorizontalMax(found));
  return {static_cast<int32_t>(index), logit, has_nan};
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_BEST_CLASS_SIMD_H_
