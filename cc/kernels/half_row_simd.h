// Walking half a row of the batch: what the forward pass and the gradient share.
//
//   frames          0 … middle-1          middle … T-1
//   CtcLoss         alpha, saved  →       ←  beta, saved
//   gradient        ←  beta × saved       alpha × saved  →
//
// Each half reads its own frames only, so a frame's logits are read once in each call, and the two
// halves are tasks that share nothing until they meet. Tried and dropped: alpha over the whole row
// first, then beta. It is the same work and memory, but one chain twice as long, and a second core
// idles at B = 1.

#ifndef TF_WARPCTC_CC_KERNELS_HALF_ROW_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_HALF_ROW_SIMD_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/kernels/arena.h"
#include "cc/kernels/ctc_loss.h"
#include "cc/kernels/lattice.h"
#include "cc/kernels/recursion_simd.h"
#include "cc/kernels/simd_exp.h"
#include "cc/kernels/simd_logits.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// One row of the batch.
template <typename Logit>
struct Row {
  const Logit* frames;
  int64_t stride;
  int64_t num_frames;  // T of this row
  int64_t num_classes;
  int64_t first_frame;  // index of frame 0 in the residuals
  const int32_t* label;
  int64_t label_length;  // U of this row
  int32_t blank;

  Row(const CtcLossProblem<Logit>& problem, int64_t b)
      : frames(problem.logits + problem.frames.base[b]),
        stride(problem.frames.stride),
        num_frames(problem.frames.length[b]),
        num_classes(problem.frames.num_classes),
        first_frame(problem.frames.first_frame[b]),
        label(problem.labels.ids + problem.labels.base[b]),
        label_length(problem.labels.length[b]),
        blank(problem.labels.blank) {}

  const Logit* Frame(int64_t t) const { return frames + t * stride; }
};

// The whole vectors that cover the states reachable at frame t.
template <typename Real, typename Logit>
ReachableRange ReachableVectors(const Row<Logit>& row, int64_t t) {
  const ReachableRange range = Reachable(t, row.num_frames, row.label_length);
  constexpr int64_t kLane = kLanes<Real>;
  return {range.begin / kLane * kLane, (range.end + kLane - 1) / kLane * kLane};
}

// The states that labels reach in range: those of the row's own.
template <typename Logit>
int64_t LabelEnd(const Row<Logit>& row, ReachableRange range) {
  return range.end < row.label_length ? range.end : row.label_length;
}

// What the scratch of a half depends on.
struct HalfRowSizes {
  int64_t width;
  int64_t num_classes;
};
template <typename Real>
HalfRowSizes SizesOf(const FrameBatch& frames, const LabelBatch& labels) {
  return {LatticeWidth<Real>(labels.max_length), frames.num_classes};
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
  Emissions<Real> emissions;
  Real* label_logits;   // [width]
  Real* skip_exponent;  // [width + a vector]

  static HalfRowScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    const int64_t width = sizes.width;
    HalfRowScratch scratch;
    for (LatticeRow<Real>& row : scratch.rows) row = LatticeRow<Real>::Take(arena, width);
    scratch.emissions.label_mantissa = arena.Take<Real>(width);
    scratch.emissions.label_exponent = arena.Take<Real>(width);
    scratch.label_logits = arena.Take<Real>(width);
    scratch.skip_exponent = arena.Take<Real>(width + kLanes<Real>);
    return scratch;
  }
};

// Everything of a half's scratch that depends on the row but not on the frame.
template <typename Logit, typename Real>
void PrepareHalf(const Row<Logit>& row, int64_t width, const HalfRowScratch<Real>& scratch) {
  for (const LatticeRow<Real>& lattice_row : scratch.rows) lattice_row.Clear(width);
  for (int64_t u = row.label_length; u < width; ++u) {
    scratch.label_logits[u] = -std::numeric_limits<Real>::infinity();
  }
  for (int64_t u = 0; u < width + kLanes<Real>; ++u) {
    const bool may_skip = u > 0 && u < row.label_length && row.label[u] != row.label[u - 1];
    scratch.skip_exponent[u] = may_skip ? Real(0) : kZeroExponent<Real>;
  }
}

// e^(logit - max) of the row's labels in range, and of the blank.
template <typename Logit, typename Real>
void LoadEmissions(const Row<Logit>& row, const Logit* frame, Real max, ReachableRange range,
                   const HalfRowScratch<Real>& scratch, Emissions<Real>* emissions) {
  const int64_t end = LabelEnd(row, range);
  for (int64_t u = range.begin; u < end; ++u) {
    scratch.label_logits[u] = ToReal(frame[row.label[u]]);
  }
  Vec<Real> mantissa, exponent;
  for (int64_t u = range.begin; u < range.end; u += kLanes<Real>) {
    // An infinite max makes the frame's normaliser NaN, and with it the row: what the lanes hold no
    // longer matters.
    ScaledExp(Vec<Real>::Load(scratch.label_logits + u), double(max), &mantissa, &exponent);
    mantissa.Store(emissions->label_mantissa + u);
    exponent.Store(emissions->label_exponent + u);
  }
  ScaledExp(Vec<Real>::Broadcast(ToReal(frame[row.blank])), double(max), &mantissa, &exponent);
  emissions->blank = {mantissa.part[0][0], exponent.part[0][0]};
}

// A step of alpha or beta onto frame t.
template <bool kAlpha, typename Real, typename Before, typename After>
WARPCTC_INLINE void Advance(int64_t t, const LatticeRow<Real>& previous,
                            const LatticeRow<Real>& current, const Emissions<Real>& emissions,
                            const Real* skip_exponent, ReachableRange range, const Before& before,
                            const After& after) {
  const auto step = [&](auto normalize) WARPCTC_INLINE_LAMBDA {
    constexpr bool kNormalize = decltype(normalize)::value;
    if constexpr (kAlpha) {
      AdvanceAlpha<kNormalize>(previous, current, emissions, skip_exponent, range.begin, range.end,
                               before, after);
    } else {
      AdvanceBeta<kNormalize>(previous, current, emissions, skip_exponent, range.begin, range.end,
                              before, after);
    }
  };
  if (t % kNormalizePeriod == kNormalizePeriod - 1) {
    step(std::true_type());
  } else {
    step(std::false_type());
  }
}

template <typename Real>
void CopyOut(const LatticeRow<Real>& from, ReachableRange range, const SavedRow<Real*>& to) {
  for (int64_t u = range.begin; u < range.end; u += kLanes<Real>) {
    from.Blank(u).Store(to.blank_mantissa + u, to.blank_exponent + u);
    from.Label(u).Store(to.label_mantissa + u, to.label_exponent + u);
  }
}

template <typename Real>
void CopyIn(const SavedRow<const Real*>& from, ReachableRange range, const LatticeRow<Real>& to) {
  for (int64_t u = range.begin; u < range.end; u += kLanes<Real>) {
    Vec<Real>::Load(from.blank_mantissa + u).Store(to.blank_mantissa + u);
    Vec<Real>::Load(from.blank_exponent + u).Store(to.blank_exponent + u);
    Vec<Real>::Load(from.label_mantissa + u).Store(to.label_mantissa + u);
    Vec<Real>::Load(from.label_exponent + u).Store(to.label_exponent + u);
  }
}

// The virtual rows before the first frame and after the last: all paths start from blank 0 and end
// in blank U.
template <typename Real>
void SetOne(const LatticeRow<Real>& row, int64_t u) {
  row.blank_mantissa[u] = 1;
  row.blank_exponent[u] = 0;
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_HALF_ROW_SIMD_H_
