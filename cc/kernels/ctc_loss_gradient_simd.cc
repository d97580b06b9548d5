// The gradient: beta over the first half of a row's frames, where alpha was saved, and alpha over
// the second, where beta was.
//
//   d loss / d logit(t, v) = softmax(t, v) - Σ over states s of class v, occupancy(t, s)
//   occupancy(t, s) = pre_alpha(t, s) · beta(t, s) / Σ_s' (the same)
//
// Graves et al. 2006, eq. 15.

#include <type_traits>
#include <utility>

#include "cc/kernels/checkpoints_simd.h"
#include "cc/kernels/gathered_gradient_simd.h"
#include "cc/kernels/half_row_simd.h"
#include "cc/kernels/path_weights_simd.h"
#include "cc/kernels/table_gradient_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {
namespace {

template <typename Real>
struct GradientScratch {
  HalfRowScratch<Real> half;
  CheckpointScratch<Real> checkpoints;
  PathWeights<Real> weights;
  GradientWriterScratch<Real> writer;

  static GradientScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    const auto half = HalfRowScratch<Real>::Take(arena, sizes);
    const auto checkpoints = CheckpointScratch<Real>::Take(arena, sizes);
    const auto weights = PathWeights<Real>::Take(arena, sizes);
    return {half, checkpoints, weights, GradientWriterScratch<Real>::Take(arena, sizes)};
  }
};

// Beta down the frames of alpha's half, or alpha up those of beta's, with the gradient of each.
//
// A block of frames at a time, in phases, so that each runs without waiting for another: emissions,
// the saved half's rows, this half's steps with the weights of the paths, the gradient.
template <bool kAlpha, typename Logit, typename Emissions, typename Real = RealOf<Logit>>
class GradientHalf {
 public:
  // likelihood_exponent: of the row.
  GradientHalf(const GradientTarget<Logit>& target, const HalfRowSizes& sizes,
               const Emissions& emissions, const Real* lattice, Real likelihood_exponent,
               const GradientScratch<Real>& scratch)
      : target_(target),
        sizes_(sizes),
        emissions_(emissions),
        likelihood_exponent_(likelihood_exponent),
        scratch_(scratch),
        previous_(scratch.half.rows[0]),
        current_(scratch.half.rows[1]),
        saved_half_(target.row, sizes, lattice, scratch.half.may_skip, scratch.checkpoints),
        writer_(target, sizes, scratch.half.emissions, scratch.weights, scratch.writer) {
    PrepareHalf(target.row, sizes.width, scratch.half);
    // The other half ended where this one begins.
    RestoreRow<kAlpha>(target.row, sizes, lattice, NumSteps<kAlpha>(target.row) - 1, previous_);
  }

  void Run() {
    const int64_t num_steps = NumSteps<!kAlpha>(target_.row);
    if (num_steps == 0) return;
    const int64_t last_block = (num_steps - 1) / sizes_.block;
    for (int64_t first = last_block * sizes_.block; first >= 0; first -= sizes_.block) {
      const Steps steps(target_.row, first, sizes_.block);
      for (int64_t i = 0; i < steps.count; ++i) {
        scratch_.half.emissions.max[i] = target_.normalizers[2 * steps.Frame(i)];
      }
      saved_half_.PrefetchBefore(steps);
      emissions_.Load(steps);
      saved_half_.Restore(steps, emissions_);
      for (int64_t i = steps.count - 1; i >= 0; --i) Weigh(steps, i);
      writer_.Write(steps);
    }
  }

 private:
  using Steps = StepBlock<!kAlpha, Logit>;

  // Onto the frame of step number i.
  WARPCTC_INLINE void Weigh(const Steps& steps, int64_t i) {
    const SavedRow<const Real*> saved = saved_half_.At(steps, i);
    // All paths together weigh the likelihood. Where its exponent is too large to be exact, so are
    // those of the paths, and they are compared among their own kind.
    constexpr Real kLargestExact = FloatBits<Real>::kRounder / 3;
    const Real exponent = likelihood_exponent_ > -kLargestExact ? likelihood_exponent_
                                                                : LargestExponent(steps, i, saved);
    PathWeigher<Real> weigher(saved, exponent, scratch_.weights.Labels(i));
    Advance<kAlpha>(steps.Frame(i), previous_, current_, emissions_.At(i), scratch_.half.may_skip,
                    steps.Range(i), weigher);
    weigher.Finish(steps.Range(i), i, scratch_.weights);
    std::swap(previous_, current_);
  }

  // The largest exponent of the frame's path weights.
  Real LargestExponent(const Steps& steps, int64_t i, const SavedRow<const Real*>& saved) const {
    Vec<Real> top = Vec<Real>::Broadcast(2 * kZeroExponent<Real>);
    const auto visit = [&](int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label)
                           WARPCTC_INLINE_LAMBDA {
                             top = Max(PathWeight(blank, saved.Blank(u)).exponent, top);
                             top = Max(PathWeight(label, saved.Label(u)).exponent, top);
                           };
    Advance<kAlpha>(steps.Frame(i), previous_, current_, emissions_.At(i), scratch_.half.may_skip,
                    steps.Range(i), visit);
    return HorizontalMax(top);
  }

  const GradientTarget<Logit>& target_;
  const HalfRowSizes& sizes_;
  const Emissions& emissions_;
  Real likelihood_exponent_;
  const GradientScratch<Real>& scratch_;
  LatticeRow<Real> previous_;
  LatticeRow<Real> current_;
  CheckpointedHalf<!kAlpha, Logit> saved_half_;
  GradientWriter<Emissions> writer_;
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
    const GradientTarget<Logit> target{row, residuals.normalizers + row.first_frame * 2,
                                       upstream[b], row_gradient};
    WithEmissions(row, sizes.width, own.half.emissions, [&](const auto& emissions) {
      using Emissions = std::decay_t<decltype(emissions)>;
      const auto run = [&](auto alpha) {
        GradientHalf<decltype(alpha)::value, Logit, Emissions>(target, sizes, emissions,
                                                               residuals.lattice, exponent, own)
            .Run();
      };
      if (first_half) {
        run(std::false_type());
      } else {
        run(std::true_type());
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
