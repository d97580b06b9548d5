// The loss: alpha over the first half of a row's frames and beta over the second, as two tasks. The
// one that finishes last closes the row:
//
//   likelihood = Σ_s alpha(middle-1, s) · pre_beta(middle-1, s)
//   loss = log(Π over frames, Σ e^(logit - largest)) - log(likelihood)

#include <cmath>
#include <limits>
#include <utility>

#include "cc/kernels/half_row_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {
namespace {

// What the two halves of every row leave for their meeting.
template <typename Real>
struct MeetingScratch {
  Real* alpha;                 // [B, row size] alpha(middle-1)
  Real* beta;                  // [B, row size] beta(middle)
  Scaled<double>* normalizer;  // [B, 2] Π Σ e^(logit - largest) over the half's frames
  int32_t* halves_done;        // [B]

  static MeetingScratch Take(Arena& arena, int64_t batch, int64_t row_size) {
    MeetingScratch scratch;
    scratch.alpha = arena.Take<Real>(batch * row_size);
    scratch.beta = arena.Take<Real>(batch * row_size);
    scratch.normalizer = arena.Take<Scaled<double>>(batch * 2);
    scratch.halves_done = arena.Take<int32_t>(batch);
    return scratch;
  }
};

// The scratch of one call.
template <typename Real>
struct LossScratch {
  MeetingScratch<Real> meeting;
  WorkerScratch<HalfRowScratch<Real>> workers;

  static LossScratch Take(Arena& arena, int64_t batch, const HalfRowSizes& sizes, int num_workers) {
    const auto meeting = MeetingScratch<Real>::Take(arena, batch, 4 * sizes.width);
    return {meeting, WorkerScratch<HalfRowScratch<Real>>::Take(arena, num_workers, sizes)};
  }
};

// Runs alpha over frames [0, middle) or beta over [middle, T), down from the last. Leaves the last
// row it comes to in `last_row` and returns the half's normaliser.
template <bool kAlpha, typename Logit, typename Emissions, typename Real = RealOf<Logit>>
Scaled<double> ForwardHalf(const Row<Logit>& row, const HalfRowSizes& sizes,
                           const Emissions& emissions, const CtcLossResiduals<Real>& residuals,
                           const HalfRowScratch<Real>& scratch, Real* last_row) {
  PrepareHalf(row, sizes.width, scratch);
  const int64_t num_steps = NumSteps<kAlpha>(row);
  LatticeRow<Real> previous = scratch.rows[0];
  LatticeRow<Real> current = scratch.rows[1];
  SetVirtualRow<kAlpha>(row, previous);
  Scaled<double> normalizer = Scaled<double>::One();
  for (int64_t first = 0; first < num_steps; first += sizes.block) {
    const StepBlock<kAlpha, Logit> steps(row, first, sizes.block);
    emissions.LoadAndNormalize(steps);
    for (int64_t i = 0; i < steps.count; ++i) {
      normalizer.mantissa *= scratch.emissions.sum[i];
      if (i % kNormalizePeriod == kNormalizePeriod - 1) normalizer = Normalized(normalizer);
      if (residuals.normalizers != nullptr) {
        Real* saved = residuals.normalizers + (row.first_frame + steps.Frame(i)) * 2;
        saved[0] = scratch.emissions.max[i];
        saved[1] = static_cast<Real>(scratch.emissions.sum[i]);
      }
    }
    for (int64_t i = 0; i < steps.count; ++i) {
      Advance<kAlpha>(steps.Frame(i), previous, current, emissions.At(i), scratch.may_skip,
                      steps.Range(i), VisitNothing());
      const int64_t step = first + i;
      if (residuals.lattice != nullptr && IsSaved(step, num_steps, sizes)) {
        CopyStates(current, steps.Range(i),
                   SavedRowOfStep<kAlpha>(row, sizes, residuals.lattice, step));
      }
      std::swap(previous, current);
    }
  }
  CopyStates(previous, {0, sizes.width}, SavedRow<Real*>(last_row, sizes.width));
  return normalizer;
}

// Adds up the lanes.
template <typename Real>
Scaled<Real> HorizontalSum(ScaledVec<Real> x) {
  Real mantissa[kLanes<Real>], exponent[kLanes<Real>];
  x.Store(mantissa, exponent);
  Scaled<Real> sum = Scaled<Real>::Zero();
  for (int i = 0; i < kLanes<Real>; ++i) sum = sum + Scaled<Real>{mantissa[i], exponent[i]};
  return sum;
}

// Σ_s alpha(middle-1, s) · pre_beta(middle-1, s): the weight of all paths. scratch: as a half of
// this row has left it, with its skips and with zeros around its rows.
template <typename Real>
Scaled<Real> Meet(int64_t width, const Real* alpha_row, const Real* beta_row,
                  const HalfRowScratch<Real>& scratch) {
  CopyStates(SavedRow<const Real*>(beta_row, width), {0, width}, scratch.rows[0]);
  const SavedRow<const Real*> alpha(alpha_row, width);
  const ScaledVec<Real> zero = ScaledVec<Real>::Broadcast(Scaled<Real>::Zero());
  ScaledVec<Real> blanks = zero;
  ScaledVec<Real> labels = zero;
  AdvanceBeta<true>(
      scratch.rows[0], scratch.rows[1], UnitEmissions<Real>(), scratch.may_skip, 0, width,
      [&](int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label) WARPCTC_INLINE_LAMBDA {
        blanks = blanks + Multiply<true>(blank, alpha.Blank(u));
        labels = labels + Multiply<true>(label, alpha.Label(u));
      });
  const Scaled<Real> likelihood = Normalized(HorizontalSum(blanks + labels));
  // At the exponent of zero the format ends: what is smaller has been cut to it, and is zero.
  return likelihood.exponent > kZeroExponent<Real> ? likelihood : Scaled<Real>::Zero();
}

}  // namespace

template <typename Logit>
size_t MeasureCtcLoss(const FrameBatch& frames, const LabelBatch& labels, int num_workers) {
  using Real = RealOf<Logit>;
  Arena arena(nullptr);
  LossScratch<Real>::Take(arena, frames.batch, SizesOf<Real>(frames, labels), num_workers);
  return arena.bytes();
}

template <typename Logit>
void RunCtcLoss(const CtcLossProblem<Logit>& problem, RealOf<Logit>* loss,
                const CtcLossResiduals<RealOf<Logit>>& residuals, void* memory,
                const WorkerPool& pool) {
  using Real = RealOf<Logit>;
  const int64_t batch = problem.frames.batch;
  const HalfRowSizes sizes = SizesOf<Real>(problem.frames, problem.labels);
  Arena arena(memory);
  const auto scratch = LossScratch<Real>::Take(arena, batch, sizes, pool.num_workers);
  const MeetingScratch<Real>& meeting = scratch.meeting;
  const int64_t row_size = 4 * sizes.width;
  for (int64_t b = 0; b < batch; ++b) meeting.halves_done[b] = 0;

  const auto finish = [&](int64_t b, Scaled<Real> likelihood, double value) {
    if (value == std::numeric_limits<double>::infinity() && problem.zero_infinity) value = 0;
    loss[b] = static_cast<Real>(value);
    if (residuals.likelihood != nullptr) {
      residuals.likelihood[2 * b] =
          value == value ? likelihood.mantissa : std::numeric_limits<Real>::quiet_NaN();
      residuals.likelihood[2 * b + 1] = likelihood.exponent;
    }
  };
  ForEachTask(pool, 2 * batch, [&](int64_t task, int worker) {
    const int64_t b = task / 2;
    const bool alpha_half = task % 2 == 0;
    const Row<Logit> row(problem, b);
    if (!HasAlignment(row.num_frames, row.label, row.label_length)) {
      if (alpha_half) finish(b, Scaled<Real>::Zero(), std::numeric_limits<double>::infinity());
      return;
    }
    const HalfRowScratch<Real> half = scratch.workers.Of(worker);
    Real* alpha = meeting.alpha + b * row_size;
    Real* beta = meeting.beta + b * row_size;
    meeting.normalizer[task] =
        WithEmissions(row, sizes.width, half.emissions, [&](const auto& emissions) {
          return alpha_half ? ForwardHalf<true>(row, sizes, emissions, residuals, half, alpha)
                            : ForwardHalf<false>(row, sizes, emissions, residuals, half, beta);
        });
    // The second of the two to come here closes the row.
    if (__atomic_fetch_add(&meeting.halves_done[b], 1, __ATOMIC_ACQ_REL) == 0) return;
    const Scaled<Real> likelihood = Meet<Real>(sizes.width, alpha, beta, half);
    const Scaled<double> normalizer = meeting.normalizer[2 * b] * meeting.normalizer[2 * b + 1];
    // Of a likelihood of zero the logarithm is -inf, of NaN it is NaN. Rounding can take a loss of
    // zero below it.
    const double value = LogRatio(normalizer, likelihood);
    finish(b, likelihood, value < 0 ? 0 : value);
  });
}

#define WARPCTC_INSTANTIATE(Logit)                                                  \
  template size_t MeasureCtcLoss<Logit>(const FrameBatch&, const LabelBatch&, int); \
  template void RunCtcLoss<Logit>(const CtcLossProblem<Logit>&, RealOf<Logit>*,     \
                                  const CtcLossResiduals<RealOf<Logit>>&, void*,    \
                                  const WorkerPool&);
WARPCTC_FOR_EACH_LOGIT_TYPE(WARPCTC_INSTANTIATE)
#undef WARPCTC_INSTANTIATE

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc
