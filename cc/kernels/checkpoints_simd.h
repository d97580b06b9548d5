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
  CheckpointedHalf(const Row<Logit>& row, const HalfRowSizes& sizes, const Real* lattice,
                   const Real* may_skip, const CheckpointScratch<Real>& scratch)
      : row_(row),
        sizes_(sizes),
        lattice_(lattice),
        may_skip_(may_skip),
        scratch_(scratch),
        num_steps_(NumSteps<kAlpha>(row)) {
    if (sizes.interval == 1) return;
    scratch.origin.Clear(sizes.width);
    for (int64_t i = 0; i < sizes.block; ++i) scratch.rows[i].Clear(sizes.width);
  }

  // Asks for the saved rows of the block before these steps, which is next and may be far from the
  // cache.
  void PrefetchBefore(const StepBlock<kAlpha, Logit>& steps) const {
    const int64_t row_size = 4 * sizes_.width;
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(Real));
    for (int64_t step = steps.first - 1; step >= steps.first - sizes_.block && step >= 0;
         step -= sizes_.interval) {
      const Real* row = SavedRowOfStep<kAlpha>(row_, sizes_, lattice_, step).blank_mantissa;
      for (int64_t i = 0; i < row_size; i += kLine) __builtin_prefetch(row + i);
    }
  }

  // Makes the rows after these steps ready for At. emissions: of the steps.
  template <typename Emissions>
  void Restore(const StepBlock<kAlpha, Logit>& steps, const Emissions& emissions) {
    for (int64_t i = 0; i < steps.count; ++i) {
      const int64_t step = steps.first + i;
      if (IsSaved(step, num_steps_, sizes_)) continue;
      const bool from_saved = (step & (sizes_.interval - 1)) == 0;
      const LatticeRow<Real>& previous = from_saved ? scratch_.origin : scratch_.rows[i - 1];
      if (from_saved) RestoreRow<kAlpha>(row_, sizes_, lattice_, step - 1, previous);
      const LatticeRow<Real>& current = scratch_.rows[i];
      const ReachableRange range = steps.Range(i);
      Advance<kAlpha>(steps.Frame(i), previous, current, emissions.At(i), may_skip_, range,
                      VisitNothing());
      ClearNextVector<kAlpha>(range, current);  // it holds another block's numbers
    }
  }

  // The row after step number i of the steps.
  WARPCTC_INLINE SavedRow<const Real*> At(const StepBlock<kAlpha, Logit>& steps, int64_t i) const {
    const int64_t step = steps.first + i;
    if (!IsSaved(step, num_steps_, sizes_)) return scratch_.rows[i];
    return SavedRowOfStep<kAlpha>(row_, sizes_, lattice_, step);
  }

 private:
  const Row<Logit>& row_;
  const HalfRowSizes& sizes_;
  const Real* lattice_;
  const Real* may_skip_;
  const CheckpointScratch<Real>& scratch_;
  int64_t num_steps_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_CHECKPOINTS_SIMD_H_
