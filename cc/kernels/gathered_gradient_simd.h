// The gradient for many classes, most of which no label of the row has: a frame at a time, and one
// pass over its logits.

#ifndef TF_WARPCTC_CC_KERNELS_GATHERED_GRADIENT_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_GATHERED_GRADIENT_SIMD_H_

#include <cstdint>

#include "cc/kernels/gathered_emissions_simd.h"
#include "cc/kernels/gradient_writer_simd.h"
#include "cc/kernels/path_weights_simd.h"
#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Logit>
class GradientWriter<GatheredEmissions<Logit>> {
  using Real = RealOf<Logit>;

 public:
  GradientWriter(const GradientTarget<Logit>& target, const HalfRowSizes&,
                 const EmissionBlock<Real>& emissions, const PathWeights<Real>& weights,
                 const GradientWriterScratch<Real>& scratch)
      : target_(target), emissions_(emissions), weights_(weights), occupancy_(scratch.occupancy) {
    for (int64_t v = 0; v < target.row.num_classes; ++v) occupancy_[v] = 0;
  }

  template <typename Steps>
  WARPCTC_INLINE void Write(const Steps& steps) const {
    const Row<Logit>& row = target_.row;
    const int64_t ahead = FrameAhead<Logit>(row.num_classes, steps.Stride());
    for (int64_t i = 0; i < steps.count; ++i) {
      const int64_t t = steps.Frame(i);
      const ReachableRange range = steps.Range(i);
      const Real* label_weight = weights_.Labels(i);
      const int64_t end = LabelEnd(row, range);
      for (int64_t u = range.begin; u < end; ++u) occupancy_[row.label[u]] += label_weight[u];
      occupancy_[row.blank] += HorizontalSum(Vec<Real>::Load(weights_.Blanks(i)));
      const Real share = target_.upstream / HorizontalSum(Vec<Real>::Load(weights_.All(i)));
      const Real factor = target_.SoftmaxFactor(t);
      const Vec<Real> max = Vec<Real>::Broadcast(emissions_.max[i]);
      Logit* gradient = target_.Frame(t);
      StreamVectors(row.Frame(t), row.num_classes, ahead,
                    [&](int64_t v, Vec<Real> x, int count) WARPCTC_INLINE_LAMBDA {
                      StoreGradient(ExpOfNonPositive(x - max), factor,
                                    Vec<Real>::Load(occupancy_ + v), share, count, gradient + v);
                    });
      Clear(range);
    }
  }

 private:
  // By way of the fewer elements: the classes, or the labels that may have been written.
  WARPCTC_INLINE void Clear(ReachableRange range) const {
    const Row<Logit>& row = target_.row;
    const int64_t end = LabelEnd(row, range);
    if (row.num_classes <= 4 * (end - range.begin)) {
      for (int64_t v = 0; v < row.num_classes; ++v) occupancy_[v] = 0;
      return;
    }
    occupancy_[row.blank] = 0;
    for (int64_t u = range.begin; u < end; ++u) occupancy_[row.label[u]] = 0;
  }

  const GradientTarget<Logit>& target_;
  const EmissionBlock<Real>& emissions_;
  const PathWeights<Real>& weights_;
  Real* occupancy_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_GATHERED_GRADIENT_SIMD_H_
