// Emissions for many classes. The passes over V are those of softmax_simd.h; the logits of the
// row's labels are gathered and raised to powers on their own.

#ifndef TF_WARPCTC_CC_KERNELS_GATHERED_EMISSIONS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_GATHERED_EMISSIONS_SIMD_H_

#include <cstdint>
#include <limits>

#include "cc/kernels/emission_block_simd.h"
#include "cc/kernels/row.h"
#include "cc/kernels/simd_exp.h"
#include "cc/kernels/simd_logits.h"
#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Logit>
class GatheredEmissions {
  using Real = RealOf<Logit>;

 public:
  GatheredEmissions(const Row<Logit>& row, int64_t width, const EmissionBlock<Real>& block)
      : row_(row), width_(width), block_(block) {}

  // Of these steps' frames, seen for the first time: their normalisers too.
  template <typename Steps>
  WARPCTC_INLINE void LoadAndNormalize(const Steps& steps) const {
    const int64_t ahead = FrameAhead<Logit>(row_.num_classes, steps.Stride());
    for (int64_t i = 0; i < steps.count; ++i) {
      NormalizeFrame(steps.Logits(i), row_.num_classes, ahead, &block_.max[i], &block_.sum[i]);
      LoadFrame(i, steps.Logits(i), steps.Range(i));
    }
  }
  // Of frames whose largest logits the block holds.
  template <typename Steps>
  WARPCTC_INLINE void Load(const Steps& steps) const {
    for (int64_t i = 0; i < steps.count; ++i) LoadFrame(i, steps.Logits(i), steps.Range(i));
  }

  // What a step reads of a frame.
  class Frame {
   public:
    WARPCTC_INLINE Frame(const Real* mantissas, const Real* exponents, int64_t blank)
        : mantissas_(mantissas), exponents_(exponents), blank_(blank) {}

    WARPCTC_INLINE ScaledVec<Real> Label(int64_t u) const {
      return ScaledVec<Real>::Load(mantissas_ + u, exponents_ + u);
    }
    WARPCTC_INLINE Scaled<Real> Blank() const { return {mantissas_[blank_], exponents_[blank_]}; }

   private:
    const Real* mantissas_;
    const Real* exponents_;
    int64_t blank_;
  };
  WARPCTC_INLINE Frame At(int64_t i) const {
    return {block_.Mantissas(i), block_.Exponents(i), width_};
  }

 private:
  WARPCTC_INLINE void LoadFrame(int64_t i, const Logit* frame, ReachableRange range) const {
    Real* mantissas = block_.Mantissas(i);
    Real* exponents = block_.Exponents(i);
    Real* logits = mantissas;  // there until they are raised
    const int64_t end = LabelEnd(row_, range);
    for (int64_t u = range.begin; u < end; ++u) logits[u] = ToReal(frame[row_.label[u]]);
    for (int64_t u = end; u < range.end; ++u) logits[u] = -std::numeric_limits<Real>::infinity();
    const ScaledExp<Real> exp(block_.max[i]);
    const auto store_power = [&](int64_t u, Vec<Real> x) WARPCTC_INLINE_LAMBDA {
      Vec<Real> mantissa, exponent;
      exp.Raise(x, &mantissa, &exponent);
      mantissa.Store(mantissas + u);
      exponent.Store(exponents + u);
    };
    for (int64_t u = range.begin; u < range.end; u += kLanes<Real>) {
      store_power(u, Vec<Real>::Load(logits + u));
    }
    store_power(width_, Vec<Real>::Broadcast(ToReal(frame[row_.blank])));
  }

  const Row<Logit>& row_;
  int64_t width_;
  const EmissionBlock<Real>& block_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_GATHERED_EMISSIONS_SIMD_H_
