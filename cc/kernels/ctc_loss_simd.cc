// The loss and its gradient, as tasks over halves of rows. See ctc_loss.h for what is computed,
// recursion_simd.h for the equations.
//
//   frames          0 … middle-1          middle … T-1
//   CtcLoss         alpha, saved  →       ←  beta, saved          meet: likelihood = Σ_s
//   alpha(middle-1, s) · pre_beta(middle-1, s) gradient        ←  beta × saved       alpha × saved
//   →
//
// Each half reads its own frames only, so a frame's logits are read once in each call. Tried and
// dropped: alpha over the whole row first, then beta. It needs the same work and memory, but is one
// chain twice as long, and leaves a second core idle at B = 1.

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "cc/kernels/arena.h"
#include "cc/kernels/ctc_loss.h"
#include "cc/kernels/recursion_simd.h"
#include "cc/kernels/scaled.h"
#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {
namespace {

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

// What one worker needs for one half of a row.
template <typename Real>
struct HalfRowScratch {
  LatticeRow<Real> rows[2];
  Emissions<Real> emissions;
  Real* label_logits;     // [width]
  Real* skip_exponent;    // [width + a vector]
  Real* label_occupancy;  // [width]
  Real* occupancy;        // [V], all zero between frames

  static HalfRowScratch Take(Arena& arena, int64_t width, int64_t num_classes) {
    HalfRowScratch scratch;
    for (LatticeRow<Real>& row : scratch.rows) row = LatticeRow<Real>::Take(arena, width);
    scratch.emissions.label_mantissa = arena.Take<Real>(width);
    scratch.emissions.label_exponent = arena.Take<Real>(width);
    scratch.label_logits = arena.Take<Real>(width);
    scratch.skip_exponent = arena.Take<Real>(width + kLanes<Real>);
    scratch.label_occupancy = arena.Take<Real>(width);
    scratch.occupancy = arena.Take<Real>(num_classes);
    return scratch;
  }
};

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

template <typename Real>
struct Scratch {
  MeetingScratch<Real> meeting;
  char* workers;
  size_t worker_bytes;
  int64_t width;
  int64_t num_classes;

  static Scratch Take(Arena& arena, const FrameBatch& frames, const LabelBatch& labels,
                      int num_workers) {
    Scratch scratch;
    scratch.width = LatticeWidth<Real>(labels.max_length);
    scratch.num_classes = frames.num_classes;
    Arena measure(nullptr);
    HalfRowScratch<Real>::Take(measure, scratch.width, scratch.num_classes);
    scratch.worker_bytes = measure.bytes();
    scratch.meeting = MeetingScratch<Real>::Take(arena, frames.batch, 4 * scratch.width);
    scratch.workers = arena.Take<char>(num_workers * static_cast<int64_t>(scratch.worker_bytes));
    return scratch;
  }
  HalfRowScratch<Real> OfWorker(int worker) const {
    Arena arena(workers + worker * worker_bytes);
    return HalfRowScratch<Real>::Take(arena, width, num_classes);
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
                   HalfRowScratch<Real>* scratch) {
  const int64_t last = range.end < row.label_length ? range.end : row.label_length;
  for (int64_t u = range.begin; u < last; ++u) {
    scratch->label_logits[u] = ToReal(frame[row.label[u]]);
  }
  Vec<Real> mantissa, exponent;
  for (int64_t u = range.begin; u < range.end; u += kLanes<Real>) {
    // An infinite max makes the frame's normaliser NaN, and with it the row: what the lanes hold no
    // longer matters.
    ScaledExp(Vec<Real>::Load(scratch->label_logits + u), double(max), &mantissa, &exponent);
    mantissa.Store(scratch->emissions.label_mantissa + u);
    exponent.Store(scratch->emissions.label_exponent + u);
  }
  ScaledExp(Vec<Real>::Broadcast(ToReal(frame[row.blank])), double(max), &mantissa, &exponent);
  scratch->emissions.blank = {mantissa.part[0][0], exponent.part[0][0]};
}

// Dispatches on whether mantissas are normalised at frame t, so that the step has no branch inside.
template <typename Step>
WARPCTC_INLINE void WithNormalization(int64_t t, const Step& step) {
  if (t % kNormalizePeriod == kNormalizePeriod - 1) {
    step(std::true_type());
  } else {
    step(std::false_type());
  }
}

template <typename Real>
void CopyOut(const LatticeRow<Real>& from, int64_t begin, int64_t end, const SavedRow<Real*>& to) {
  for (int64_t u = begin; u < end; u += kLanes<Real>) {
    from.Blank(u).Store(to.blank_mantissa + u, to.blank_exponent + u);
    from.Label(u).Store(to.label_mantissa + u, to.label_exponent + u);
  }
}

template <typename Real>
void CopyIn(const SavedRow<const Real*>& from, int64_t begin, int64_t end,
            const LatticeRow<Real>& to) {
  for (int64_t u = begin; u < end; u += kLanes<Real>) {
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

// ---- Forward

// Runs alpha over frames [0, middle) or beta over [middle, T), down from the last. Returns the
// half's normaliser.
template <bool kAlpha, typename Logit, typename Real = RealOf<Logit>>
Scaled<double> ForwardHalf(const Row<Logit>& row, int64_t width,
                           const CtcLossResiduals<Real>& residuals, HalfRowScratch<Real>* scratch,
                           Real* last_row) {
  PrepareHalf(row, width, *scratch);
  const int64_t middle = MiddleFrame(row.num_frames);
  const int64_t num_frames = kAlpha ? middle : row.num_frames - middle;
  LatticeRow<Real> previous = scratch->rows[0];
  LatticeRow<Real> current = scratch->rows[1];
  SetOne(previous, kAlpha ? 0 : row.label_length);
  Scaled<double> normalizer = Scaled<double>::One();
  for (int64_t i = 0; i < num_frames; ++i) {
    const int64_t t = kAlpha ? i : row.num_frames - 1 - i;
    const Logit* frame = row.Frame(t);
    const Real max = FrameMax(frame, row.num_classes);
    const double sum = FrameSum(frame, row.num_classes, max);
    normalizer = normalizer * Scaled<double>{sum, 0};
    const ReachableRange range = ReachableVectors<Real>(row, t);
    LoadEmissions(row, frame, max, range, scratch);
    WithNormalization(t, [&](auto normalize) {
      constexpr bool kNormalize = decltype(normalize)::value;
      constexpr auto Advance = kAlpha ? AdvanceAlpha<kNormalize, Real, VisitNothing, VisitNothing>
                                      : AdvanceBeta<kNormalize, Real, VisitNothing, VisitNothing>;
      Advance(previous, current, scratch->emissions, scratch->skip_exponent, range.begin, range.end,
              VisitNothing(), VisitNothing());
    });
    if (residuals.lattice != nullptr) {
      Real* saved = residuals.lattice + (row.first_frame + t) * 4 * width;
      CopyOut(current, range.begin, range.end, SavedRow<Real*>(saved, width));
    }
    if (residuals.normalizers != nullptr) {
      Real* saved = residuals.normalizers + (row.first_frame + t) * 2;
      saved[0] = max;
      saved[1] = static_cast<Real>(sum);
    }
    std::swap(previous, current);
  }
  CopyOut(previous, 0, width, SavedRow<Real*>(last_row, width));
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

// Σ_s alpha(middle-1, s) · pre_beta(middle-1, s): the weight of all paths.
template <typename Logit, typename Real = RealOf<Logit>>
Scaled<Real> Meet(const Row<Logit>& row, int64_t width, const Real* alpha_row, const Real* beta_row,
                  HalfRowScratch<Real>* scratch) {
  PrepareHalf(row, width, *scratch);
  CopyIn(SavedRow<const Real*>(beta_row, width), 0, width, scratch->rows[0]);
  const SavedRow<const Real*> alpha(alpha_row, width);
  for (int64_t u = 0; u < width; ++u) {
    scratch->emissions.label_mantissa[u] = 1;
    scratch->emissions.label_exponent[u] = 0;
  }
  scratch->emissions.blank = Scaled<Real>::One();
  const ScaledVec<Real> zero = ScaledVec<Real>::Broadcast(Scaled<Real>::Zero());
  ScaledVec<Real> blanks = zero;
  ScaledVec<Real> labels = zero;
  AdvanceBeta<true>(
      scratch->rows[0], scratch->rows[1], scratch->emissions, scratch->skip_exponent, 0, width,
      [&](int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label) {
        const auto alpha_blank =
            ScaledVec<Real>::Load(alpha.blank_mantissa + u, alpha.blank_exponent + u);
        const auto alpha_label =
            ScaledVec<Real>::Load(alpha.label_mantissa + u, alpha.label_exponent + u);
        blanks = blanks + Multiply<true>(blank, alpha_blank);
        labels = labels + Multiply<true>(label, alpha_label);
      },
      VisitNothing());
  return Normalized(HorizontalSum(blanks + labels));
}

// ---- Gradient

// Divides the paths at one frame among the states, and the states among their classes: fills
// scratch->occupancy with scale · P(class at this frame | label), by adding to zeros, and keeps
// what to take back.
//
// Divided by the weight of all paths as this frame has it, not as the row has it: they differ by
// the rounding of T steps, and so each frame's gradient adds up to zero.
template <typename Logit, typename Real>
void SpreadOccupancy(const Row<Logit>& row, ReachableRange range, Vec<Real> blanks,
                     Vec<Real> labels, Real scale, HalfRowScratch<Real>* scratch) {
  const Real blank_weight = HorizontalSum(blanks);
  const Real weight = blank_weight + HorizontalSum(labels);
  const Real factor = weight > 0 ? scale / weight : Real(0);
  scratch->occupancy[row.blank] += blank_weight * factor;
  const int64_t last = range.end < row.label_length ? range.end : row.label_length;
  for (int64_t u = range.begin; u < last; ++u) {
    scratch->occupancy[row.label[u]] += scratch->label_occupancy[u] * factor;
  }
}
template <typename Logit, typename Real>
void ClearOccupancy(const Row<Logit>& row, ReachableRange range, HalfRowScratch<Real>* scratch) {
  scratch->occupancy[row.blank] = 0;
  const int64_t last = range.end < row.label_length ? range.end : row.label_length;
  for (int64_t u = range.begin; u < last; ++u) scratch->occupancy[row.label[u]] = 0;
}

// Runs beta down frames [0, middle), where alpha was saved, or alpha up [middle, T), where beta
// was, and writes the gradient.
template <bool kAlpha, typename Logit, typename Real = RealOf<Logit>>
void GradientHalf(const Row<Logit>& row, int64_t width,
                  const CtcLossResiduals<const Real>& residuals, Scaled<Real> likelihood,
                  Real scale, HalfRowScratch<Real>* scratch, Logit* gradient) {
  PrepareHalf(row, width, *scratch);
  for (int64_t v = 0; v < row.num_classes; ++v) scratch->occupancy[v] = 0;
  const int64_t middle = MiddleFrame(row.num_frames);
  const int64_t num_frames = kAlpha ? row.num_frames - middle : middle;
  const auto saved_row = [&](int64_t t) {
    return SavedRow<const Real*>(residuals.lattice + (row.first_frame + t) * 4 * width, width);
  };
  LatticeRow<Real> previous = scratch->rows[0];
  LatticeRow<Real> current = scratch->rows[1];
  if (kAlpha && middle == 0) {
    SetOne(previous, 0);
  } else {
    const int64_t t = kAlpha ? middle - 1 : middle;
    const ReachableRange range = ReachableVectors<Real>(row, t);
    CopyIn(saved_row(t), range.begin, range.end, previous);
  }
  const Vec<Real> inverse_mantissa = Vec<Real>::Broadcast(1 / likelihood.mantissa);
  const Vec<Real> likelihood_exponent = Vec<Real>::Broadcast(likelihood.exponent);
  for (int64_t i = 0; i < num_frames; ++i) {
    const int64_t t = kAlpha ? middle + i : middle - 1 - i;
    const Logit* frame = row.Frame(t);
    const Real* normalizer = residuals.normalizers + (row.first_frame + t) * 2;
    const Real max = normalizer[0];
    const Real sum = normalizer[1];
    const ReachableRange range = ReachableVectors<Real>(row, t);
    LoadEmissions(row, frame, max, range, scratch);
    const SavedRow<const Real*> saved = saved_row(t);
    Vec<Real> blanks = Vec<Real>::Broadcast(0);
    Vec<Real> labels = Vec<Real>::Broadcast(0);
    const auto occupancy = [&](ScaledVec<Real> pre, const Real* mantissa, const Real* exponent) {
      return ScaleDown(pre.mantissa * inverse_mantissa * Vec<Real>::Load(mantissa),
                       pre.exponent + Vec<Real>::Load(exponent) - likelihood_exponent);
    };
    const auto visit = [&](int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label) {
      blanks = blanks + occupancy(blank, saved.blank_mantissa + u, saved.blank_exponent + u);
      const Vec<Real> of_label =
          occupancy(label, saved.label_mantissa + u, saved.label_exponent + u);
      labels = labels + of_label;
      of_label.Store(scratch->label_occupancy + u);
    };
    WithNormalization(t, [&](auto normalize) {
      constexpr bool kNormalize = decltype(normalize)::value;
      constexpr auto Advance = kAlpha
                                   ? AdvanceAlpha<kNormalize, Real, decltype(visit), VisitNothing>
                                   : AdvanceBeta<kNormalize, Real, decltype(visit), VisitNothing>;
      Advance(previous, current, scratch->emissions, scratch->skip_exponent, range.begin, range.end,
              visit, VisitNothing());
    });
    SpreadOccupancy(row, range, blanks, labels, scale, scratch);
    WriteFrameGradient(frame, row.num_classes, max, sum, scale, scratch->occupancy,
                       gradient + t * row.stride);
    ClearOccupancy(row, range, scratch);
    std::swap(previous, current);
  }
}

// gradient of frames [begin, end) = value.
template <typename Logit>
void FillFrames(const Row<Logit>& row, int64_t begin, int64_t end, RealOf<Logit> value,
                Logit* gradient) {
  Logit converted;
  FromReal(value, &converted);
  for (int64_t t = begin; t < end; ++t) {
    Logit* frame = gradient + t * row.stride;
    for (int64_t v = 0; v < row.num_classes; ++v) frame[v] = converted;
  }
}

}  // namespace

template <typename Logit>
size_t MeasureCtcLoss(const FrameBatch& frames, const LabelBatch& labels, int num_workers) {
  Arena arena(nullptr);
  Scratch<RealOf<Logit>>::Take(arena, frames, labels, num_workers);
  return arena.bytes();
}

template <typename Logit>
void RunCtcLoss(const CtcLossProblem<Logit>& problem, RealOf<Logit>* loss,
                const CtcLossResiduals<RealOf<Logit>>& residuals, void* memory,
                const WorkerPool& pool) {
  using Real = RealOf<Logit>;
  Arena arena(memory);
  const auto scratch = Scratch<Real>::Take(arena, problem.frames, problem.labels, pool.num_workers);
  const MeetingScratch<Real>& meeting = scratch.meeting;
  const int64_t row_size = 4 * scratch.width;
  for (int64_t b = 0; b < problem.frames.batch; ++b) meeting.halves_done[b] = 0;

  const auto finish = [&](int64_t b, Scaled<Real> likelihood, double value) {
    if (value == std::numeric_limits<double>::infinity() && problem.zero_infinity) value = 0;
    loss[b] = static_cast<Real>(value);
    if (residuals.likelihood != nullptr) {
      residuals.likelihood[2 * b] =
          value == value ? likelihood.mantissa : std::numeric_limits<Real>::quiet_NaN();
      residuals.likelihood[2 * b + 1] = likelihood.exponent;
    }
  };
  ForEachTask(pool, 2 * problem.frames.batch, [&](int64_t task, int worker) {
    const int64_t b = task / 2;
    const bool alpha_half = task % 2 == 0;
    const Row<Logit> row(problem, b);
    if (!HasAlignment(row.num_frames, row.label, row.label_length)) {
      if (alpha_half) finish(b, Scaled<Real>::Zero(), std::numeric_limits<double>::infinity());
      return;
    }
    auto half = scratch.OfWorker(worker);
    Real* alpha = meeting.alpha + b * row_size;
    Real* beta = meeting.beta + b * row_size;
    meeting.normalizer[task] = alpha_half
                                   ? ForwardHalf<true>(row, scratch.width, residuals, &half, alpha)
                                   : ForwardHalf<false>(row, scratch.width, residuals, &half, beta);
    // The second of the two to come here closes the row.
    if (__atomic_fetch_add(&meeting.halves_done[b], 1, __ATOMIC_ACQ_REL) == 0) return;
    const Scaled<Real> likelihood = Meet(row, scratch.width, alpha, beta, &half);
    const Scaled<double> normalizer = meeting.normalizer[2 * b] * meeting.normalizer[2 * b + 1];
    // Of a likelihood of zero the logarithm is -inf, of NaN it is NaN. Rounding can take a loss of
    // zero below it.
    const double value = LogRatio(normalizer, likelihood);
    finish(b, likelihood, value < 0 ? 0 : value);
  });
}

template <typename Logit>
void RunCtcLossGradient(const CtcLossProblem<Logit>& problem,
                        const CtcLossResiduals<const RealOf<Logit>>& residuals,
                        const RealOf<Logit>* upstream, Logit* gradient, void* memory,
                        const WorkerPool& pool) {
  using Real = RealOf<Logit>;
  Arena arena(memory);
  const auto scratch = Scratch<Real>::Take(arena, problem.frames, problem.labels, pool.num_workers);
  ForEachTask(pool, 2 * problem.frames.batch, [&](int64_t task, int worker) {
    const int64_t b = task / 2;
    const bool first_half = task % 2 == 0;
    const Row<Logit> row(problem, b);
    Logit* row_gradient = gradient + problem.frames.base[b];
    const Scaled<Real> likelihood{residuals.likelihood[2 * b], residuals.likelihood[2 * b + 1]};
    const int64_t middle = MiddleFrame(row.num_frames);
    if (!first_half) FillFrames(row, row.num_frames, problem.frames.capacity[b], 0, row_gradient);
    if (likelihood.mantissa > 0) {
      auto half = scratch.OfWorker(worker);
      if (first_half) {
        GradientHalf<false>(row, scratch.width, residuals, likelihood, upstream[b], &half,
                            row_gradient);
      } else {
        GradientHalf<true>(row, scratch.width, residuals, likelihood, upstream[b], &half,
                           row_gradient);
      }
    } else {  // no alignment: zero; NaN: NaN, as the loss
      FillFrames(row, first_half ? 0 : middle, first_half ? middle : row.num_frames,
                 likelihood.mantissa, row_gradient);
    }
  });
}

#define WARPCTC_INSTANTIATE(Logit)                                                      \
  template size_t MeasureCtcLoss<Logit>(const FrameBatch&, const LabelBatch&, int);     \
  template void RunCtcLoss<Logit>(const CtcLossProblem<Logit>&, RealOf<Logit>*,         \
                                  const CtcLossResiduals<RealOf<Logit>>&, void*,        \
                                  const WorkerPool&);                                   \
  template void RunCtcLossGradient<Logit>(const CtcLossProblem<Logit>&,                 \
                                          const CtcLossResiduals<const RealOf<Logit>>&, \
                                          const RealOf<Logit>*, Logit*, void*, const WorkerPool&);
WARPCTC_FOR_EACH_LOGIT_TYPE(WARPCTC_INSTANTIATE)
#undef WARPCTC_INSTANTIATE

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc
