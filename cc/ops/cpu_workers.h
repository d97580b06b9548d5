// TensorFlow's intra-op thread pool as the kernels' WorkerPool.

#ifndef TF_WARPCTC_CC_OPS_CPU_WORKERS_H_
#define TF_WARPCTC_CC_OPS_CPU_WORKERS_H_

#include <algorithm>
#include <cstdint>

#include "cc/kernels/parallel.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/threadpool.h"

namespace warpctc {

// At most as many workers as there is work for: waking a thread costs some microseconds, which
// `work`, the number of elements the call goes through, has to be worth. Results do not depend on
// the number.
inline WorkerPool CpuWorkers(tensorflow::OpKernelContext* context, int64_t work) {
  constexpr int64_t kWorkPerWorker = 4096;
  const auto* threads = context->device()->tensorflow_cpu_worker_threads();
  const int64_t wanted = std::max<int64_t>(1, work / kWorkPerWorker);
  WorkerPool pool;
  pool.num_workers = static_cast<int>(std::min<int64_t>(wanted, threads->num_threads));
  pool.host = threads->workers;
  pool.run = [](void* host, int num_workers, void (*work)(void*, int), void* argument) {
    using Scheduling = tensorflow::thread::ThreadPool::SchedulingParams;
    static_cast<tensorflow::thread::ThreadPool*>(host)->ParallelFor(
        num_workers, Scheduling::Fixed(/*block_size=*/1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) work(argument, static_cast<int>(i));
        });
  };
  return pool;
}

// Scratch memory from TensorFlow's allocator, freed with the tensor.
inline absl::Status AllocateScratch(tensorflow::OpKernelContext* context, size_t bytes,
                                    tensorflow::Tensor* scratch) {
  return context->allocate_temp(tensorflow::DT_UINT8,
                                tensorflow::TensorShape({static_cast<int64_t>(bytes)}), scratch);
}

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_OPS_CPU_WORKERS_H_
