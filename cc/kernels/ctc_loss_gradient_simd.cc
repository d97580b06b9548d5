// The gradient: beta over the first half of a row's frames, where alpha was saved, and alpha over
// the second, where beta was.
//
//   d loss / d logit(t, v) = softmax(t, v) - Σ over states s of class v, occupancy(t, s)
//   occupancy(t, s) = pre_alpha(t, s) · beta(t, s) / Σ_s' (the same)             Graves 2006, eq.
//   15

#include <type_traits>
#include <utility>

#include "cc/kernels/checkpoints_simd.h"
#include "cc/kernels/half_row_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {
namespace {

// What one worker needs to spread a frame's paths over states and classes.
template <typename Real>
struct GradientScratch {
  HalfRowScratch<Real> half;
  CheckpointScratch<Real> checkpoints;
  Real* blank_mantissa;  // [width] weight of the paths through each state of the frame
  Real* blank_exponent;
  Real* label_mantissa;
  Real* label_exponent;
  Real* occupancy;  // [V] scale · P(class at this frame | label); all zero between frames

  static GradientScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    GradientScratch scratch;
    scratch.half = HalfRowScratch<Real>::Take(arena, sizes);
    scratch.checkpoints = CheckpointScratch<Real>::Take(arena, sizes);
    scratch.blank_mantissa = arena.Take<Real>(sizes.width);
    scratch.blank_exponent = arena.Take<Real>(sizes.width);
    scratch.label_mantissa = arena.Take<Real>(sizes.width);
    scratch.label_exponent = arena.Take<Real>(sizes.width);
    scratch.occupancy = arena.Take<Real>(sizes.num_classes);
    return scratch;
  }
};

// Fills scratch.occupancy, which is zero, from the path weights of the states in range. `top` is
// the largest exponent among them.
//
// The paths are divided by their weight as this frame has it, not by the row's likelihood. The two
// differ by the rounding of up to T steps: so each frame's gradient adds up to zero, and weights
// whose exponents are too large to be exact are still compared among their own kind.
template <typename Logit, typename Real>
void SpreadOccupancy(const Row<Logit>& row, ReachableRange range, Real top, Real scale,
                     const GradientScratch<Real>& scratch) {
  const Vec<Real> top_exponent = Vec<Real>::Broadcast(top);
  Vec<Real> blanks = Vec<Real>::Broadcast(0);
  Vec<Real> labels = Vec<Real>::Broadcast(0);
  for (int64_t u = range.begin; u < range.end; u += kLanes<Real>) {
    const auto blank =
        ScaledVec<Real>::Load(scratch.blank_mantissa + u, scratch.blank_exponent + u);
    const auto label =
        ScaledVec<Real>::Load(scratch.label_mantissa + u, scratch.label_exponent + u);
    blanks = blanks + ScaleDown(blank.mantissa, blank.exponent - top_exponent);
    const Vec<Real> weight = ScaleDown(label.mantissa, label.exponent - top_exponent);
    labels = labels + weight;
    weight.Store(scratch.label_mantissa + u);
  }
  const Real blank_weight = HorizontalSum(blanks);
  const Real factor = scale / (blank_weight + HorizontalSum(labels));
  scratch.occupancy[row.blank] += blank_weight * factor;
  const int64_t end = LabelEnd(row, range);
  for (int64_t u = range.begin; u < end; ++u) {
    scratch.occupancy[row.label[u]] += scratch.label_mantissa[u] * factor;
  }
}

// Zero again, by way of the fewer elements: the classes, or the labels that may have been written.
template <typename Logit, typename Real>
void ClearOccupancy(const Row<Logit>& row, ReachableRange range,
                    const GradientScratch<Real>& scratch) {
  const int64_t end = LabelEnd(row, range);
  if (row.num_classes <= 4 * (end - range.begin)) {
    for (int64_t v = 0; v < row.num_classes; ++v) scratch.occupancy[v] = 0;
    return;
  }
  scratch.occupancy[row.blank] = 0;
  for (int64_t u = range.begin; u < end; ++u) scratch.occupancy[row.label[u]] = 0;
}

// Runs beta down frames [0, middle), where alpha was saved, or alpha up [middle, T), where beta
// was, and writes their gradient. emissions, saved_emissions: two of the same kind.
template <bool kAlpha, typename Logit, typename Emissions, typename Real = RealOf<Logit>>
void GradientHalf(const Row<Logit>& row, const HalfRowSizes& sizes, Emissions emissions,
                  const Emissions& saved_emissions, const CtcLossResiduals<const Real>& residuals,
                  Real scale, const GradientScratch<Real>& scratch, Logit* gradient) {
  const int64_t num_frames = NumSteps<!kAlpha>(row);  // of the half that was saved
  if (num_frames == 0) return;
  PrepareHalf(row, sizes.width, scratch.half);
  for (int64_t v = 0; v < row.num_classes; ++v) scratch.occupancy[v] = 0;
  CheckpointedHalf<!kAlpha, Logit, Emissions> saved_half(
      row, sizes, residuals, scratch.half.skip_exponent, scratch.checkpoints, saved_emissions);
  // The other half ended where this one begins.
  LatticeRow<Real> previous = scratch.half.rows[0];
  LatticeRow<Real> current = scratch.half.rows[1];
  RestoreRow<kAlpha>(row, sizes, residuals.lattice, NumSteps<kAlpha>(row) - 1, previous);
  for (int64_t step = num_frames - 1; step >= 0; --step) {
    const int64_t t = FrameOfStep<!kAlpha>(row, step);
    const Logit* frame = row.Frame(t);
    const Real* normalizer = residuals.normalizers + (row.first_frame + t) * 2;
    const Real max = normalizer[0];
    const Real sum = normalizer[1];
    const ReachableRange range = ReachableVectors<Real>(row, t);
    emissions.LoadFrame(frame, range, max);
    // The paths through a state: what comes before it, without its emission, times what was saved.
    const SavedRow<const Real*> saved = saved_half.At(step);
    Vec<Real> top = Vec<Real>::Broadcast(2 * kZeroExponent<Real>);
    const auto visit_paths = [&](int64_t u, ScaledVec<Real> blank,
                                 ScaledVec<Real> label) WARPCTC_INLINE_LAMBDA {
      const ScaledVec<Real> through_blank = PathWeight(
          blank, ScaledVec<Real>::Load(saved.blank_mantissa + u, saved.blank_exponent + u));
      const ScaledVec<Real> through_label = PathWeight(
          label, ScaledVec<Real>::Load(saved.label_mantissa + u, saved.label_exponent + u));
      top = Max(Max(through_blank.exponent, through_label.exponent), top);
      through_blank.Store(scratch.blank_mantissa + u, scratch.blank_exponent + u);
      through_label.Store(scratch.label_mantissa + u, scratch.label_exponent + u);
    };
    Advance<kAlpha>(t, previous, current, emissions, scratch.half.skip_exponent, range, visit_paths,
                    VisitNothing());
    SpreadOccupancy(row, range, HorizontalMax(top), scale, scratch);
    emissions.WriteGradient(sum, scale, scratch.occupancy, gradient + t * row.stride);
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
size_t MeasureCtcLossGradient(const FrameBatch& frames, const LabelBatch& labels, int num_workers) {
  using Real = RealOf<Logit>;
  Arena arena(nullptr);
  WorkerScratch<GradientScratch<Real>>::Take(arena, num_workers, SizesOf<Real>(frames, labels));
  return arena.bytes();
}

template <typename Logit>
void RunCtcLossGradient(const CtcLossProblem<Logit>& problem,
                        const CtcLossResiduals<const RealOf<Logit>>& residuals,
                        const RealOf<Logit>* upstream, Logit* gradient, void* memory,
                        const WorkerPool& pool) {
  using Real = RealOf<Logit>;
  const HalfRowSizes sizes = SizesOf<Real>(problem.frames, problem.labels);
  Arena arena(memory);
  const auto workers = WorkerScratch<GradientScratch<Real>>::Take(arena, pool.num_workers, sizes);
  ForEachTask(pool, 2 * problem.frames.batch, [&](int64_t task, int worker) {
    const int64_t b = task / 2;
    const bool first_half = task % 2 == 0;
    const Row<Logit> row(problem, b);
    Logit* row_gradient = gradient + problem.frames.base[b];
    if (!first_half) FillFrames(row, row.num_frames, problem.frames.capacity[b], 0, row_gradient);
    const Real likelihood = residuals.likelihood[2 * b];
    if (!(likelihood > 0)) {  // no alignment, gradient 0; or a NaN loss, gradient NaN
      const int64_t middle = MiddleFrame(row.num_frames);
      FillFrames(row, first_half ? 0 : middle, first_half ? middle : row.num_frames, likelihood,
                 row_gradient);
      return;
    }
    const GradientScratch<Real> own = workers.Of(worker);
    WithEmissions(row, sizes.width, own.half.emissions, [&](const auto& emissions) {
      using Emissions = std::decay_t<decltype(emissions)>;
      const Emissions saved_emissions(row, sizes.interval == 1 ? 0 : sizes.width,
                                      own.checkpoints.emissions);
      if (first_half) {
        GradientHalf<false>(row, sizes, emissions, saved_emissions, residuals, upstream[b], own,
                            row_gradient);
      } else {
        GradientHalf<true>(row, sizes, emissions, saved_emissions, residuals, upstream[b], own,
                           row_gradient);
      }
    });
  });
}

#define WARPCTC_INSTANTIATE(Logit)                                                          \
  template size_t MeasureCtcLossGradient<Logit>(const FrameBatch&, const LabelBatch&, int); \
  template void RunCtcLossGradient<Logit>(const CtcLossProblem<Logit>&,                     \
                                          const CtcLossResiduals<const RealOf<Logit>>&,     \
                                          const RealOf<Logit>*, Logit*, void*, const WorkerPool&);
WARPCTC_FOR_EACH_LOGIT_TYPE(WARPCTC_INSTANTIATE)
#undef WARPCTC_INSTANTIATE

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc
