// Running independent tasks on the caller's threads.
//
// The kernels own no threads: a host hands them a callback (TensorFlow its intra-op pool, the tests
// plain threads). Every task computes its own outputs in its own order, whichever worker takes it,
// so the results do not depend on the number of workers.

#ifndef TF_WARPCTC_CC_KERNELS_PARALLEL_H_
#define TF_WARPCTC_CC_KERNELS_PARALLEL_H_

#include <cstdint>

#include "cc/kernels/simd_level.h"

namespace warpctc {

// How to run `work(argument, worker)` for worker = 0 … num_workers-1, perhaps at the same time, and
// wait for all of them.
struct WorkerPool {
  int num_workers;  // ≥ 1; the scratch memory has a part for each
  void* host;       // handed to `run`
  void (*run)(void* host, int num_workers, void (*work)(void* argument, int worker),
              void* argument);
};

inline namespace WARPCTC_SIMD_NAMESPACE {

// Calls task(index, worker) for every index in [0, num_tasks). Workers take the next index as they
// come free, which evens out rows of different length.
template <typename Task>
void ForEachTask(const WorkerPool& pool, int64_t num_tasks, const Task& task) {
  struct Shared {
    const Task* task;
    int64_t num_tasks;
    int64_t next;
  } shared{&task, num_tasks, 0};
  auto work = [](void* argument, int worker) {
    auto* shared = static_cast<Shared*>(argument);
    for (;;) {
      const int64_t index = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
      if (index >= shared->num_tasks) return;
      (*shared->task)(index, worker);
    }
  };
  const int workers = num_tasks < pool.num_workers ? static_cast<int>(num_tasks) : pool.num_workers;
  if (workers <= 1) {
    work(&shared, 0);
  } else {
    pool.run(pool.host, workers, work, &shared);
  }
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_PARALLEL_H_
