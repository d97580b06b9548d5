#include "cc/kernels/ctc_greedy_decode.h"

#include "cc/kernels/simd_dispatch.h"

namespace warpctc {

// Defined in ctc_greedy_decode_simd.cc, once per level.
#define WARPCTC_DECLARE(level)                                                    \
  namespace level {                                                               \
  template <typename Logit>                                                       \
  size_t MeasureCtcGreedyDecode(const FrameBatch&);                               \
  template <typename Logit, typename Id>                                          \
  void RunCtcGreedyDecode(const CtcGreedyDecodeProblem<Logit>&,                   \
                          const CtcGreedyDecodeResult<Id, RealOf<Logit>>&, void*, \
                          const WorkerPool&);                                     \
  }
WARPCTC_FOR_EACH_SIMD_LEVEL(WARPCTC_DECLARE)
#undef WARPCTC_DECLARE

template <typename Logit>
size_t CtcGreedyDecodeScratchBytes(const FrameBatch& frames) {
  return baseline::MeasureCtcGreedyDecode<Logit>(frames);  // the same at every level
}

template <typename Logit, typename Id>
void CtcGreedyDecode(const CtcGreedyDecodeProblem<Logit>& problem,
                     const CtcGreedyDecodeResult<Id, RealOf<Logit>>& result, void* scratch,
                     const WorkerPool& pool, SimdLevel level) {
  WARPCTC_DISPATCH(level, RunCtcGreedyDecode(problem, result, scratch, pool));
}

#define WARPCTC_INSTANTIATE(Logit)                                                                \
  template size_t CtcGreedyDecodeScratchBytes<Logit>(const FrameBatch&);                          \
  template void CtcGreedyDecode<Logit, int32_t>(                                                  \
      const CtcGreedyDecodeProblem<Logit>&, const CtcGreedyDecodeResult<int32_t, RealOf<Logit>>&, \
      void*, const WorkerPool&, SimdLevel);                                                       \
  template void CtcGreedyDecode<Logit, int64_t>(                                                  \
      const CtcGreedyDecodeProblem<Logit>&, const CtcGreedyDecodeResult<int64_t, RealOf<Logit>>&, \
      void*, const WorkerPool&, SimdLevel);
WARPCTC_FOR_EACH_LOGIT_TYPE(WARPCTC_INSTANTIATE)
#undef WARPCTC_INSTANTIATE

}  // namespace warpctc
