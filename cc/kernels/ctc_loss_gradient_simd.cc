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

template <typename Real>
struct GradientScratch {
  HalfRowScratch<Real> half;
  CheckpointScratch<Real> checkpoints;
  Real* label_weight;  // [width] weight of the paths through each label of the frame
  Real* occupancy;     // [V] scale · P(class at this frame | label); all zero between frames

  static GradientScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    GradientScratch scratch;
    scratch.half = HalfRowScratch<Real>::Take(arena, sizes);
    scratch.checkpoints = CheckpointScratch<Real>::Take(arena, sizes);
    scratch.label_weight = arena.Take<Real>(sizes.width);
    scratch.occupancy = arena.Take<Real>(sizes.num_classes);
    return scratch;
  }
};

// The weights of the paths through a frame's states, divided by 2^exponent, as the step before it
// gives them: what comes before a state, without its emission, times what was saved with it.
template <typename Real>
class PathWeights {
 public:
  // label_weight: [width] gets that of the labels.
  WARPCTC_INLINE PathWeights(const SavedRow<const Real*>& saved, Real exponent, Real* label_weight)
      : saved_(saved),
        exponent_(Vec<Real>::Broadcast(exponent)),
        label_weight_(label_weight),
        blanks_(Vec<Real>::Broadcast(0)),
        labels_(Vec<Real>::Broadcast(0)) {}

  // The visitor of the step.
  WARPCTC_INLINE void operator()(int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label) {
    const ScaledVec<Real> through_blank = PathWeight(blank, saved_.Blank(u));
    const ScaledVec<Real> through_label = PathWeight(label, saved_.Label(u));
    const Vec<Real> weight = ScaleDown(through_label.mantissa, through_label.exponent - exponent_);
    weight.Store(label_weight_ + u);
    labels_ = labels_ + weight;
    blanks_ = blanks_ + ScaleDown(through_blank.mantissa, through_blank.exponent - exponent_);
  }

  WARPCTC_INLINE Real OfBlanks() const { return HorizontalSum(blanks_); }
  WARPCTC_INLINE Real OfLabels() const { return HorizontalSum(labels_); }

 private:
  SavedRow<const Real*> saved_;
  Vec<Real> exponent_;
  Real* label_weight_;
  Vec<Real> blanks_;
  Vec<Real> labels_;
};

// Fills the occupancy, which is zero, from the weights of the paths through the states in range.
//
// They are divided by their sum as this frame has it, not by the row's likelihood. The two differ
// by the rounding of up to T steps: so each frame's gradient adds up to zero.
template <typename Logit, typename Real>
WARPCTC_INLINE void SpreadOccupancy(const Row<Logit>& row, ReachableRange range,
                                    const PathWeights<Real>& weights, Real scale,
                                    const GradientScratch<Real>& scratch) {
  const Real of_blanks = weights.OfBlanks();
  const Real factor = scale / (of_blanks + weights.OfLabels());
  scratch.occupancy[row.blank] += of_blanks * factor;
  const int64_t end = LabelEnd(row, range);
  for (int64_t u = range.begin; u < end; ++u) {
    scratch.occupancy[row.label[u]] += scratch.label_weight[u] * factor;
  }
}

// Zero again, by way of the fewer elements: the classes, or the labels that may have been written.
template <typename Logit, typename Real>
WARPCTC_INLINE void ClearOccupancy(const Row<Logit>& row, ReachableRange range,
                                   const GradientScratch<Real>& scratch) {
  const int64_t end = LabelEnd(row, range);
  if (row.num_classes <= 4 * (end - range.begin)) {
    for (int64_t v = 0; v < row.num_classes; ++v) scratch.occupancy[v] = 0;
    return;
  }
  scratch.occupancy[row.blank] = 0;
  for (int64_t u = range.begin; u < end; ++u) scratch.occupancy[row.label[u]] = 0;
}

// Beta down the frames of alpha's half, or alpha up those of beta's, with the gradient of each.
template <bool kAlpha, typename Logit, typename Emissions, typename Real = RealOf<Logit>>
class GradientHalf {
 public:
  GradientHalf(const Row<Logit>& row, const HalfRowSizes& sizes, const Emissions& emissions,
               const CtcLossResiduals<const Real>& residuals, Real likelihood_exponent, Real scale,
               const GradientScratch<Real>& scratch, Logit* gradient)
      : row_(row),
        sizes_(sizes),
        emissions_(emissions),
        normalizers_(residuals.normalizers + row.first_frame * 2),
        likelihood_exponent_(likelihood_exponent),
        scale_(scale),
        scratch_(scratch),
        gradient_(gradient),
        num_steps_(NumSteps<!kAlpha>(row)),
        previous_(scratch.half.rows[0]),
        current_(scratch.half.rows[1]),
        saved_half_(row, sizes, residuals, scratch.half.may_skip, scratch.checkpoints) {
    PrepareHalf(row, sizes.width, scratch.half);
    for (int64_t v = 0; v < row.num_classes; ++v) scratch.occupancy[v] = 0;
    // The other half ended where this one begins.
    RestoreRow<kAlpha>(row, sizes, residuals.lattice, NumSteps<kAlpha>(row) - 1, previous_);
  }

  void Run() {
    const int64_t last_block = (num_steps_ - 1) / sizes_.block;  // 0 also where there are no steps
    for (int64_t first = last_block * sizes_.block; first >= 0; first -= sizes_.block) {
      const int64_t end = BlockEnd(first, num_steps_, sizes_);
      for (int64_t step = first; step < end; ++step) {
        const int64_t t = FrameOfStep<!kAlpha>(row_, step);
        emissions_.Load(step - first, row_.Frame(t), ReachableVectors<Real>(row_, t),
                        normalizers_[2 * t]);
      }
      saved_half_.Restore(first, end, emissions_);
      for (int64_t step = end - 1; step >= first; --step) WriteStep(step, step - first);
    }
  }

 private:
  // Onto the frame of a step, which is number i of its block.
  WARPCTC_INLINE void WriteStep(int64_t step, int64_t i) {
    const int64_t t = FrameOfStep<!kAlpha>(row_, step);
    const ReachableRange range = ReachableVectors<Real>(row_, t);
    const SavedRow<const Real*> saved = saved_half_.At(step);
    // All paths together weigh the likelihood. Where its exponent is too large to be exact, so are
    // those of the paths, and they are compared among their own kind.
    constexpr Real kLargestExact = FloatBits<Real>::kRounder / 3;
    const bool exact = likelihood_exponent_ > -kLargestExact;
    PathWeights<Real> weights(saved,
                              exact ? likelihood_exponent_ : LargestExponent(i, t, range, saved),
                              scratch_.label_weight);
    Advance<kAlpha>(t, previous_, current_, emissions_.At(i), scratch_.half.may_skip, range,
                    weights);
    SpreadOccupancy(row_, range, weights, scale_, scratch_);
    emissions_.WriteGradient(i, row_.Frame(t), normalizers_[2 * t], normalizers_[2 * t + 1], scale_,
                             scratch_.occupancy, gradient_ + t * row_.stride);
    ClearOccupancy(row_, range, scratch_);
    std::swap(previous_, current_);
  }

  // The largest exponent of the path weights of frame t.
  Real LargestExponent(int64_t i, int64_t t, ReachableRange range,
                       const SavedRow<const Real*>& saved) const {
    Vec<Real> top = Vec<Real>::Broadcast(2 * kZeroExponent<Real>);
    const auto visit = [&](int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label)
                           WARPCTC_INLINE_LAMBDA {
                             top = Max(PathWeight(blank, saved.Blank(u)).exponent, top);
                             top = Max(PathWeight(label, saved.Label(u)).exponent, top);
                           };
    Advance<kAlpha>(t, previous_, current_, emissions_.At(i), scratch_.half.may_skip, range, visit);
    return HorizontalMax(top);
  }

  const Row<Logit>& row_;
  const HalfRowSizes& sizes_;
  const Emissions& emissions_;
  const Real* normalizers_;
  Real likelihood_exponent_;
  Real scale_;
  const GradientScratch<Real>& scratch_;
  Logit* gradient_;
  int64_t num_steps_;
  LatticeRow<Real> previous_;
  LatticeRow<Real> current_;
  CheckpointedHalf<!kAlpha, Logit> saved_half_;
};

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
    const Real exponent = residuals.likelihood[2 * b + 1];
    WithEmissions(row, sizes.width, own.half.emissions, [&](const auto& emissions) {
      using Emissions = std::decay_t<decltype(emissions)>;
      if (first_half) {
        GradientHalf<false, Logit, Emissions>(row, sizes, emissions, residuals, exponent,
                                              upstream[b], own, row_gradient)
            .Run();
      } else {
        GradientHalf<true, Logit, Emissions>(row, sizes, emissions, residuals, exponent,
                                             upstream[b], own, row_gradient)
            .Run();
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
