// Walking half a row of the batch: what the forward pass and the gradient share.
//
//   frames          0 … middle-1          middle … T-1
//   CtcLoss         alpha, saved  →       ←  beta, saved
//   gradient        ←  beta × saved       alpha × saved  →
//
// Each half reads its own frames only, so a frame's logits are read once in each call, and the two
// halves are tasks that share nothing until they meet. Alpha over the whole row and then beta would
// be the same work and memory, but one chain twice as long, with a second core idle at B = 1.

#ifndef TF_WARPCTC_CC_KERNELS_HALF_ROW_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_HALF_ROW_SIMD_H_

#include <cstdint>
#include <type_traits>

#include "cc/kernels/arena.h"
#include "cc/kernels/emissions_simd.h"
#include "cc/kernels/half_steps.h"
#include "cc/kernels/lattice.h"
#include "cc/kernels/recursion_simd.h"
#include "cc/kernels/row.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// What the scratch of a half depends on.
struct HalfRowSizes {
  int64_t width;
  int64_t num_classes;
  int64_t interval;  // between checkpoints
  int64_t block;     // frames whose emissions are held at a time, whole intervals
};
constexpr int64_t kLongestBlock = kLongestCheckpointInterval;
template <typename Real>
HalfRowSizes SizesOf(const FrameBatch& frames, const LabelBatch& labels) {
  constexpr int64_t kShortestBlock = 8;
  const int64_t interval = CheckpointInterval<Real>(labels.max_length);
  return {LatticeWidth<Real>(labels.max_length), frames.num_classes, interval,
          interval > kShortestBlock ? interval : kShortestBlock};
}

// Whether the lattice row after a step of the half is saved. Intervals are powers of two.
inline bool IsSaved(int64_t step, int64_t num_steps, const HalfRowSizes& sizes) {
  return ((step + 1) & (sizes.interval - 1)) == 0 || step == num_steps - 1;
}
// Where the row is saved that ends the interval of a step. Pointer: Real* or const Real*.
template <bool kAlpha, typename Logit, typename Pointer>
SavedRow<Pointer> SavedRowOfStep(const Row<Logit>& row, const HalfRowSizes& sizes, Pointer lattice,
                                 int64_t step) {
  const int64_t before = kAlpha ? 0 : SavedRowsOfHalf(MiddleFrame(row.num_frames), sizes.interval);
  const int64_t number = row.first_saved_row + before + step / sizes.interval;
  return {lattice + number * 4 * sizes.width, sizes.width};
}

// One `Part` for each worker.
template <typename Part>
class WorkerScratch {
 public:
  static WorkerScratch Take(Arena& arena, int num_workers, const HalfRowSizes& sizes) {
    Arena measure(nullptr);
    Part::Take(measure, sizes);
    WorkerScratch scratch;
    scratch.sizes_ = sizes;
    scratch.bytes_ = static_cast<int64_t>(measure.bytes());
    scratch.memory_ = arena.Take<char>(num_workers * scratch.bytes_);
    return scratch;
  }
  Part Of(int worker) const {
    Arena arena(memory_ + worker * bytes_);
    return Part::Take(arena, sizes_);
  }

 private:
  HalfRowSizes sizes_;
  int64_t bytes_;
  char* memory_;
};

// What one worker needs to walk one half of a row.
template <typename Real>
struct HalfRowScratch {
  LatticeRow<Real> rows[2];
  Real* may_skip;  // [width + a vector]
  EmissionBlock<Real> emissions;

  static HalfRowScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    const int64_t width = sizes.width;
    HalfRowScratch scratch;
    for (LatticeRow<Real>& row : scratch.rows) row = LatticeRow<Real>::Take(arena, width);
    scratch.may_skip = arena.Take<Real>(width + kLanes<Real>);
    scratch.emissions = EmissionBlock<Real>::Take(arena, sizes.block, width);
    return scratch;
  }
};

// Everything of a half's scratch that depends on the row but not on the frame.
template <typename Logit, typename Real>
void PrepareHalf(const Row<Logit>& row, int64_t width, const HalfRowScratch<Real>& scratch) {
  for (const LatticeRow<Real>& lattice_row : scratch.rows) lattice_row.Clear(width);
  for (int64_t u = 0; u < width + kLanes<Real>; ++u) {
    scratch.may_skip[u] = u > 0 && u < row.label_length && row.label[u] != row.label[u - 1];
  }
}

// A step of alpha or beta onto frame t.
template <bool kAlpha, typename Real, typename Emissions, typename Visit>
WARPCTC_INLINE void Advance(int64_t t, const LatticeRow<Real>& previous,
                            const LatticeRow<Real>& current, const Emissions& emissions,
                            const Real* may_skip, ReachableRange range, Visit&& visit) {
  const auto step = [&](auto normalize) WARPCTC_INLINE_LAMBDA {
    constexpr bool kNormalize = decltype(normalize)::value;
    if constexpr (kAlpha) {
      AdvanceAlpha<kNormalize>(previous, current, emissions, may_skip, range.begin, range.end,
                               visit);
    } else {
      AdvanceBeta<kNormalize>(previous, current, emissions, may_skip, range.begin, range.end,
                              visit);
    }
  };
  if (t % kNormalizePeriod == kNormalizePeriod - 1) {
    step(std::true_type());
  } else {
    step(std::false_type());
  }
}

// Zero in the vector that the next step of the half may reach for the first time.
template <bool kAlpha, typename Real>
WARPCTC_INLINE void ClearNextVector(ReachableRange range, const LatticeRow<Real>& row) {
  row.ClearVector(kAlpha ? range.end : range.begin - kLanes<Real>);
}

// From a working row to a saved one, or back.
template <typename From, typename To>
void CopyStates(const From& from, ReachableRange range, const To& to) {
  constexpr int64_t kStep = kLanes<typename From::Real>;
  for (int64_t u = range.begin; u < range.end; u += kStep) {
    from.Blank(u).Store(to.blank_mantissa + u, to.blank_exponent + u);
    from.Label(u).Store(to.label_mantissa + u, to.label_exponent + u);
  }
}

// The virtual rows before the first frame and after the last, in a clear row: all paths start from
// blank 0 and end in blank U.
template <bool kAlpha, typename Logit, typename Real>
void SetVirtualRow(const Row<Logit>& row, const LatticeRow<Real>& to) {
  const int64_t u = kAlpha ? 0 : row.label_length;
  to.blank_mantissa[u] = 1;
  to.blank_exponent[u] = 0;
}

// The row after a saved step of the half, or the virtual row before the first. `to` must hold
// finite numbers, and does afterwards: what a step reads of states that no path visits counts for
// nothing.
template <bool kAlpha, typename Logit, typename Real>
void RestoreRow(const Row<Logit>& row, const HalfRowSizes& sizes, const Real* lattice, int64_t step,
                const LatticeRow<Real>& to) {
  if (step < 0) {
    to.Clear(sizes.width);
    SetVirtualRow<kAlpha>(row, to);
    return;
  }
  const ReachableRange range = ReachableVectors(row, FrameOfStep<kAlpha>(row, step));
  CopyStates(SavedRowOfStep<kAlpha>(row, sizes, lattice, step), range, to);
  ClearNextVector<kAlpha>(range, to);
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_HALF_ROW_SIMD_H_
