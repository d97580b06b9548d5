// The lattice rows of a half as the forward pass came by them, for the gradient, which asks for
// them from the last step to the first. Rows between two checkpoints are computed again, an
// interval at a time.

#ifndef TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_

#include <cstdint>

#include "cc/kernels/half_row_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct CheckpointScratch {
  LatticeRow<Real> origin;  // the row that an interval starts from
  // [interval - 1] the rows of the interval but its last, which is saved.
  LatticeRow<Real> rows[kLongestCheckpointInterval - 1];
  EmissionScratch<Real> emissions;

  static CheckpointScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    CheckpointScratch scratch{};
    if (sizes.interval == 1) return scratch;
    scratch.origin = LatticeRow<Real>::Take(arena, sizes.width);
    for (int64_t i = 0; i + 1 < sizes.interval; ++i) {
      scratch.rows[i] = LatticeRow<Real>::Take(arena, sizes.width);
    }
    scratch.emissions = EmissionScratch<Real>::Take(arena, sizes.width);
    return scratch;
  }
};

// kAlpha: whether the saved half is alpha's.
template <bool kAlpha, typename Logit, typename Emissions>
class CheckpointedHalf {
  using Real = RealOf<Logit>;

 public:
  // skip_exponent: prepared for the row. emissions: of its own, with the scratch's arrays.
  CheckpointedHalf(const Row<Logit>& row, const HalfRowSizes& sizes,
                   const CtcLossResiduals<const Real>& residuals, const Real* skip_exponent,
                   const CheckpointScratch<Real>& scratch, const Emissions& emissions)
      : row_(row),
        sizes_(sizes),
        residuals_(residuals),
        skip_exponent_(skip_exponent),
        scratch_(scratch),
        emissions_(emissions),
        num_steps_(NumSteps<kAlpha>(row)) {
    // Finite numbers everywhere: what a step reads of states that no path visits is multiplied by
    // zero.
    for (int64_t i = 0; i + 1 < sizes.interval; ++i) scratch.rows[i].Clear(sizes.width);
  }

  // The row after a step. Steps must be asked for in falling order.
  WARPCTC_INLINE SavedRow<const Real*> At(int64_t step) {
    if (IsSaved(step, num_steps_, sizes_.interval)) {
      return SavedRowOfStep<kAlpha>(row_, sizes_, residuals_.lattice, step);
    }
    const int64_t interval = step / sizes_.interval;
    if (interval != computed_) Compute(interval);
    return scratch_.rows[step - interval * sizes_.interval];
  }

 private:
  void Compute(int64_t interval) {
    const int64_t first = interval * sizes_.interval;
    const int64_t end = first + sizes_.interval < num_steps_ ? first + sizes_.interval : num_steps_;
    scratch_.origin.Clear(sizes_.width);
    RestoreRow<kAlpha>(row_, sizes_, residuals_.lattice, first - 1, scratch_.origin);
    LatticeRow<Real> previous = scratch_.origin;
    for (int64_t step = first; step + 1 < end; ++step) {
      const int64_t t = FrameOfStep<kAlpha>(row_, step);
      const ReachableRange range = ReachableVectors<Real>(row_, t);
      const LatticeRow<Real> current = scratch_.rows[step - first];
      emissions_.LoadFrame(row_.Frame(t), range,
                           residuals_.normalizers[(row_.first_frame + t) * 2]);
      Advance<kAlpha>(t, previous, current, emissions_, skip_exponent_, range, VisitNothing(),
                      VisitNothing());
      // The vector that the next step may reach for the first time holds another interval's
      // numbers.
      current.ClearVector(kAlpha ? range.end : range.begin - kLanes<Real>);
      previous = current;
    }
    computed_ = interval;
  }

  const Row<Logit>& row_;
  const HalfRowSizes& sizes_;
  const CtcLossResiduals<const Real>& residuals_;
  const Real* skip_exponent_;
  const CheckpointScratch<Real>& scratch_;
  Emissions emissions_;
  int64_t num_steps_;
  int64_t computed_ = -1;  // the interval that scratch_.rows holds
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_
