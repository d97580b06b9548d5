// Greedy decoding in two waves of tasks: the frames, in runs of a size worth a task; then the rows,
// once all their frames are known.

#include <cmath>
#include <limits>

#include "cc/kernels/arena.h"
#include "cc/kernels/best_class_simd.h"
#include "cc/kernels/collapse.h"
#include "cc/kernels/ctc_greedy_decode.h"
#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {
namespace {

// What the pass over the logits leaves of each frame.
template <typename Real>
struct FrameScratch {
  int32_t* path;          // [num_frames] best class
  Real* best;             // [num_frames] its logit; NaN if the frame has one
  Real* log_probability;  // [num_frames] its log softmax

  static FrameScratch Take(Arena& arena, int64_t num_frames) {
    FrameScratch scratch;
    scratch.path = arena.Take<int32_t>(num_frames);
    scratch.best = arena.Take<Real>(num_frames);
    scratch.log_probability = arena.Take<Real>(num_frames);
    return scratch;
  }
};

template <typename Logit, typename Real>
void DecodeFrame(const Logit* frame, int64_t num_classes, bool with_probability, int64_t index,
                 const FrameScratch<Real>& scratch) {
  const BestClass<Real> best = FindBestClass(frame, num_classes, kPageAhead<Logit>);
  scratch.path[index] = best.index;
  scratch.best[index] = best.has_nan ? std::numeric_limits<Real>::quiet_NaN() : best.logit;
  if (with_probability) {
    // log softmax of the largest logit: the logit itself cancels.
    Real max;
    double sum;
    NormalizeFrame(frame, num_classes, kPageAhead<Logit>, &max, &sum);
    scratch.log_probability[index] = static_cast<Real>(-std::log(sum));
  }
}

}  // namespace

template <typename Logit>
size_t MeasureCtcGreedyDecode(const FrameBatch& frames) {
  Arena arena(nullptr);
  FrameScratch<RealOf<Logit>>::Take(arena, frames.num_frames);
  return arena.bytes();
}

template <typename Logit, typename Id>
void RunCtcGreedyDecode(const CtcGreedyDecodeProblem<Logit>& problem,
                        const CtcGreedyDecodeResult<Id, RealOf<Logit>>& result, void* memory,
                        const WorkerPool& pool) {
  using Real = RealOf<Logit>;
  const FrameBatch& frames = problem.frames;
  Arena arena(memory);
  const auto scratch = FrameScratch<Real>::Take(arena, frames.num_frames);
  const bool with_probability = result.log_probability != nullptr;

  const auto decode = [&](int64_t b, int64_t t) {
    DecodeFrame(problem.logits + frames.base[b] + t * frames.stride, frames.num_classes,
                with_probability, frames.first_frame[b] + t, scratch);
  };
  int64_t longest = 0;
  for (int64_t b = 0; b < frames.batch; ++b) {
    if (frames.length[b] > longest) longest = frames.length[b];
  }
  const int64_t num_frames = frames.batch * longest;
  // A task is worth its start from some ten thousand logits on; beyond that, the longer the stretch
  // of memory that one worker reads, the faster.
  constexpr int64_t kFewestLogits = 1 << 15;
  const int64_t fewest = 1 + kFewestLogits / frames.num_classes;
  const int64_t share = num_frames / (4 * pool.num_workers);
  const int64_t run = share > fewest ? share : fewest;
  // Memory is read in the order that it has: all rows of one time, or all frames of one row.
  const bool time_major = frames.stride > frames.num_classes;
  const int64_t neighbors = time_major ? frames.batch : longest;
  ForEachTask(pool, (num_frames + run - 1) / run, [&](int64_t task, int) {
    const int64_t begin = task * run;
    const int64_t end = begin + run < num_frames ? begin + run : num_frames;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = time_major ? i % neighbors : i / neighbors;
      const int64_t t = time_major ? i / neighbors : i % neighbors;
      if (t < frames.length[b]) decode(b, t);
    }
  });

  ForEachTask(pool, frames.batch, [&](int64_t b, int) {
    const int64_t first = frames.first_frame[b];
    const int64_t capacity = frames.capacity[b];
    Id* tokens = result.tokens + first;
    Id* starts = result.start_frames == nullptr ? nullptr : result.start_frames + first;
    Id* ends = result.end_frames == nullptr ? nullptr : result.end_frames + first;
    Real* log_probability = with_probability ? result.log_probability + first : nullptr;
    const int64_t count =
        Collapse(scratch.path + first, frames.length[b], problem.blank, problem.merge_repeated,
                 [&](int64_t j, int32_t token, int64_t start, int64_t end) {
                   tokens[j] = token;
                   if (starts != nullptr) starts[j] = static_cast<Id>(start);
                   if (ends != nullptr) ends[j] = static_cast<Id>(end);
                   if (log_probability != nullptr) {
                     double sum = 0;
                     for (int64_t t = start; t < end; ++t)
                       sum += scratch.log_probability[first + t];
                     log_probability[j] = static_cast<Real>(sum);
                   }
                 });
    result.lengths[b] = static_cast<Id>(count);
    for (int64_t j = count; j < capacity; ++j) {
      tokens[j] = result.padding;
      if (starts != nullptr) starts[j] = -1;
      if (ends != nullptr) ends[j] = -1;
      if (log_probability != nullptr) log_probability[j] = 0;
    }
    if (result.score != nullptr) {
      double sum = 0;
      for (int64_t t = 0; t < frames.length[b]; ++t) sum -= scratch.best[first + t];
      result.score[b] = static_cast<Real>(sum);
    }
  });
}

#define WARPCTC_INSTANTIATE(Logit)                                                                \
  template size_t MeasureCtcGreedyDecode<Logit>(const FrameBatch&);                               \
  template void RunCtcGreedyDecode<Logit, int32_t>(                                               \
      const CtcGreedyDecodeProblem<Logit>&, const CtcGreedyDecodeResult<int32_t, RealOf<Logit>>&, \
      void*, const WorkerPool&);                                                                  \
  template void RunCtcGreedyDecode<Logit, int64_t>(                                               \
      const CtcGreedyDecodeProblem<Logit>&, const CtcGreedyDecodeResult<int64_t, RealOf<Logit>>&, \
      void*, const WorkerPool&);
WARPCTC_FOR_EACH_LOGIT_TYPE(WARPCTC_INSTANTIATE)
#undef WARPCTC_INSTANTIATE

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc
