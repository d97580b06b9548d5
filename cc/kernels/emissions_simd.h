// What a frame says of each label of the row, q(t, label u) = e^(logit - largest), and of the
// blank; with the softmax over all classes, which reads the same logits.
//
// Two ways, chosen by the number of classes: TableEmissions for few, GatheredEmissions for many.
// Both load a block of frames at a time, hand out one of them for a step, and write its gradient.

#ifndef TF_WARPCTC_CC_KERNELS_EMISSIONS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_EMISSIONS_SIMD_H_

#include <cstdint>

#include "cc/kernels/gathered_emissions_simd.h"
#include "cc/kernels/table_emissions_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// The emissions before any frame: all one. Turns a step into the sum of its incoming paths.
template <typename Real>
struct UnitEmissions {
  WARPCTC_INLINE ScaledVec<Real> Label(int64_t) const {
    return ScaledVec<Real>::Broadcast(Scaled<Real>::One());
  }
  WARPCTC_INLINE Scaled<Real> Blank() const { return Scaled<Real>::One(); }
};

// Calls visit(emissions) with the kind that suits the row. block: room for the emissions of as many
// frames as are loaded at a time.
template <typename Logit, typename Visit>
WARPCTC_INLINE auto WithEmissions(const Row<Logit>& row, int64_t width,
                                  const EmissionBlock<RealOf<Logit>>& block, const Visit& visit) {
  if (row.num_classes < TableEmissions<Logit, 2>::kCapacity) {
    return visit(TableEmissions<Logit, 2>(row, width, block));
  }
  if (row.num_classes < TableEmissions<Logit, kLargestTableVectors>::kCapacity) {
    return visit(TableEmissions<Logit, kLargestTableVectors>(row, width, block));
  }
  return visit(GatheredEmissions<Logit>(row, width, block));
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_EMISSIONS_SIMD_H_
