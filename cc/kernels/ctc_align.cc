#include "cc/kernels/ctc_align.h"

#include "cc/kernels/collapse.h"

namespace warpctc {

template <typename Id>
void CtcAlign(const CtcAlignProblem<Id>& problem, Id* aligned, Id* lengths,
              const WorkerPool& pool) {
  ForEachTask(pool, problem.batch, [&](int64_t b, int) {
    const Id* path = problem.ids + problem.base[b];
    Id* tokens = aligned + problem.base[b];
    const int64_t count =
        Collapse(path, problem.length[b], problem.blank, problem.merge_repeated,
                 [&](int64_t j, Id token, int64_t, int64_t) { tokens[j] = token; });
    for (int64_t j = count; j < problem.capacity[b]; ++j) tokens[j] = problem.padding;
    lengths[b] = static_cast<Id>(count);
  });
}

template void CtcAlign<int32_t>(const CtcAlignProblem<int32_t>&, int32_t*, int32_t*,
                                const WorkerPool&);
template void CtcAlign<int64_t>(const CtcAlignProblem<int64_t>&, int64_t*, int64_t*,
                                const WorkerPool&);

}  // namespace warpctc
