// Half a row as steps in time: alpha goes up from frame 0, beta down from the last.

#ifndef TF_WARPCTC_CC_KERNELS_HALF_STEPS_H_
#define TF_WARPCTC_CC_KERNELS_HALF_STEPS_H_

#include <cstdint>

#include "cc/kernels/lattice.h"
#include "cc/kernels/row.h"
#include "cc/kernels/simd_level.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <bool kAlpha, typename Logit>
int64_t NumSteps(const Row<Logit>& row) {
  const int64_t middle = MiddleFrame(row.num_frames);
  return kAlpha ? middle : row.num_frames - middle;
}
// The frame of a step, and the step of a frame: each is the other's inverse.
template <bool kAlpha, typename Logit>
int64_t FrameOfStep(const Row<Logit>& row, int64_t step) {
  return kAlpha ? step : row.num_frames - 1 - step;
}

// The states reachable at frame t, widened to whole vectors.
template <typename Logit>
ReachableRange ReachableVectors(const Row<Logit>& row, int64_t t) {
  const ReachableRange range = Reachable(t, row.num_frames, row.label_length);
  constexpr int64_t kLanes = kLatticeAlignment<RealOf<Logit>>;
  return {range.begin / kLanes * kLanes, (range.end + kLanes - 1) / kLanes * kLanes};
}

// Some steps in a row; those at hand at a time.
template <bool kAlpha, typename Logit>
struct StepBlock {
  const Row<Logit>& row;
  int64_t first;  // step
  int64_t count;

  // The block of at most `size` steps that starts with `first`.
  StepBlock(const Row<Logit>& row, int64_t first, int64_t size)
      : row(row), first(first), count(NumSteps<kAlpha>(row) - first) {
    if (count > size) count = size;
  }

  // Of step number i of the block, 0 ≤ i < count.
  int64_t Frame(int64_t i) const { return FrameOfStep<kAlpha>(row, first + i); }
  const Logit* Logits(int64_t i) const { return row.Frame(Frame(i)); }
  // From one step's logits to the next's.
  int64_t Stride() const { return kAlpha ? row.stride : -row.stride; }
  ReachableRange Range(int64_t i) const { return ReachableVectors(row, Frame(i)); }
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_HALF_STEPS_H_
