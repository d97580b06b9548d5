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

// The pass over V only finds the maximum, and in which block of vectors it last rose; the class is
// then searched in that block, which is still in the first-level cache. To carry a vector of
// indices along would double the instructions of the pass.
template <typename Logit>
WARPCTC_INLINE BestClass<RealOf<Logit>> FindBestClass(const Logit* frame, int64_t num_classes) {
  using Real = RealOf<Logit>;
  constexpr int64_t kBlock = 16 * kLanes<Real>;
  Real best = -std::numeric_limits<Real>::infinity();
  int64_t best_block = 0;
  Vec<Real> seen = Vec<Real>::Broadcast(0);  // turns NaN in a lane that has seen one
  for (int64_t v = 0; v < num_classes; v += kBlock) {
    const int64_t count = num_classes - v < kBlock ? num_classes - v : kBlock;
    Vec<Real> max = Vec<Real>::Broadcast(-std::numeric_limits<Real>::infinity());
    ForEachVector(frame + v, count, [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA {
      max = Max(x, max);
      seen = KeepNan(x, seen);
    });
    const Real block_best = HorizontalMax(max);
    if (block_best > best) {
      best = block_best;
      best_block = v;
    }
  }
  int64_t index = 0;
  if (best > -std::numeric_limits<Real>::infinity()) {
    index = best_block;
    while (!(ToReal(frame[index]) == best)) ++index;
  }
  const Real sum = HorizontalSum(seen);
  return {static_cast<int32_t>(index), best, sum != sum};
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_BEST_CLASS_SIMD_H_
