// The lattice rows of a half as the forward pass came by them, for the gradient, which takes them a
// block at a time, from the last to the first. Rows between two checkpoints are computed again.

#ifndef TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_

#include <cstdint>

#include "cc/kernels/half_row_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct CheckpointScratch {
  LatticeRow<Real> origin;               // the saved row that an interval starts from
  LatticeRow<Real> rows[kLongestBlock];  // [block] those of the block which are not saved

  static CheckpointScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    CheckpointScratch scratch{};
    if (sizes.interval == 1) return scratch;  // all are saved
    scratch.origin = LatticeRow<Real>::Take(arena, sizes.width);
    for (int64_t i = 0; i < sizes.block; ++i) {
      scratch.rows[i] = LatticeRow<Real>::Take(arena, sizes.width);
    }
    return scratch;
  }
};

// kAlpha: whether the saved half is alpha's.
template <bool kAlpha, typename Logit>
class CheckpointedHalf {
  using Real = RealOf<Logit>;

 public:
  // may_skip: prepared for the row.
  CheckpointedHalf(const Row<Logit>& row, const HalfRowSizes& sizes,
                   const CtcLossResiduals<const Real>& residuals, const Real* may_skip,
                   const CheckpointScratch<Real>& scratch)
      : row_(row),
        sizes_(sizes),
        lattice_(residuals.lattice),
        may_skip_(may_skip),
        scratch_(scratch),
        num_steps_(NumSteps<kAlpha>(row)) {
    if (sizes.interval == 1) return;
    // Finite numbers everywhere: what a step reads of states that no path visits is multiplied by
    // zero.
    for (int64_t i = 0; i < sizes.block; ++i) scratch.rows[i].Clear(sizes.width);
  }

  // Makes the rows after steps [first, end) of a block ready for At. emissions: of these steps.
  template <typename Emissions>
  void Restore(int64_t first, int64_t end, const Emissions& emissions) {
    first_ = first;
    for (int64_t step = first; step < end; ++step) {
      if (IsSaved(step, num_steps_, sizes_)) continue;
      LatticeRow<Real> previous = scratch_.origin;
      if ((step & (sizes_.interval - 1)) == 0) {
        previous.Clear(sizes_.width);
        RestoreRow<kAlpha>(row_, sizes_, lattice_, step - 1, previous);
      } else {
        previous = scratch_.rows[step - 1 - first];
      }
      const int64_t t = FrameOfStep<kAlpha>(row_, step);
      const ReachableRange range = ReachableVectors<Real>(row_, t);
      const LatticeRow<Real>& current = scratch_.rows[step - first];
      Advance<kAlpha>(t, previous, current, emissions.At(step - first), may_skip_, range,
                      VisitNothing());
      // The vector that the next step may reach for the first time holds another block's numbers.
      current.ClearVector(kAlpha ? range.end : range.begin - kLanes<Real>);
    }
  }

  // The row after a step of the block.
  WARPCTC_INLINE SavedRow<const Real*> At(int64_t step) const {
    if (IsSaved(step, num_steps_, sizes_)) {
      return SavedRowOfStep<kAlpha>(row_, sizes_, lattice_, step);
    }
    return scratch_.rows[step - first_];
  }

 private:
  const Row<Logit>& row_;
  const HalfRowSizes& sizes_;
  const Real* lattice_;
  const Real* may_skip_;
  const CheckpointScratch<Real>& scratch_;
  int64_t num_steps_;
  int64_t first_ = 0;  // step of the block
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_
