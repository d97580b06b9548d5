#include "cc/kernels/ctc_loss.h"

#include "cc/kernels/simd_dispatch.h"

namespace warpctc {

// Defined in ctc_loss_simd.cc, once per level.
#define WARPCTC_DECLARE(level)                                                                \
  namespace level {                                                                           \
  template <typename Logit>                                                                   \
  size_t MeasureCtcLoss(const FrameBatch&, const LabelBatch&, int);                           \
  template <typename Logit>                                                                   \
  size_t MeasureCtcLossGradient(const FrameBatch&, const LabelBatch&, int);                   \
  template <typename Logit>                                                                   \
  void RunCtcLoss(const CtcLossProblem<Logit>&, RealOf<Logit>*,                               \
                  const CtcLossResiduals<RealOf<Logit>>&, void*, const WorkerPool&);          \
  template <typename Logit>                                                                   \
  void RunCtcLossGradient(const CtcLossProblem<Logit>&,                                       \
                          const CtcLossResiduals<const RealOf<Logit>>&, const RealOf<Logit>*, \
                          Logit*, void*, const WorkerPool&);                                  \
  }
WARPCTC_FOR_EACH_SIMD_LEVEL(WARPCTC_DECLARE)
#undef WARPCTC_DECLARE

template <typename Logit>
size_t CtcLossScratchBytes(const FrameBatch& frames, const LabelBatch& labels, int num_workers) {
  return baseline::MeasureCtcLoss<Logit>(frames, labels, num_workers);  // the same at every level
}

template <typename Logit>
size_t CtcLossGradientScratchBytes(const FrameBatch& frames, const LabelBatch& labels,
                                   int num_workers) {
  return baseline::MeasureCtcLossGradient<Logit>(frames, labels, num_workers);
}

template <typename Logit>
void CtcLoss(const CtcLossProblem<Logit>& problem, RealOf<Logit>* loss,
             const CtcLossResiduals<RealOf<Logit>>& residuals, void* scratch,
             const WorkerPool& pool, SimdLevel level) {
  WARPCTC_DISPATCH(level, RunCtcLoss(problem, loss, residuals, scratch, pool));
}

template <typename Logit>
void CtcLossGradient(const CtcLossProblem<Logit>& problem,
                     const CtcLossResiduals<const RealOf<Logit>>& residuals,
                     const RealOf<Logit>* upstream, Logit* gradient, void* scratch,
                     const WorkerPool& pool, SimdLevel level) {
  WARPCTC_DISPATCH(level,
                   RunCtcLossGradient(problem, residuals, upstream, gradient, scratch, pool));
}

#define WARPCTC_INSTANTIATE(Logit)                                                               \
  template size_t CtcLossScratchBytes<Logit>(const FrameBatch&, const LabelBatch&, int);         \
  template size_t CtcLossGradientScratchBytes<Logit>(const FrameBatch&, const LabelBatch&, int); \
  template void CtcLoss<Logit>(const CtcLossProblem<Logit>&, RealOf<Logit>*,                     \
                               const CtcLossResiduals<RealOf<Logit>>&, void*, const WorkerPool&, \
                               SimdLevel);                                                       \
  template void CtcLossGradient<Logit>(                                                          \
      const CtcLossProblem<Logit>&, const CtcLossResiduals<const RealOf<Logit>>&,                \
      const RealOf<Logit>*, Logit*, void*, const WorkerPool&, SimdLevel);
WARPCTC_FOR_EACH_LOGIT_TYPE(WARPCTC_INSTANTIATE)
#undef WARPCTC_INSTANTIATE

}  // namespace warpctc
