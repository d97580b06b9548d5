// The passes over all V logits of a frame: the softmax's normaliser, and the gradient.

#ifndef TF_WARPCTC_CC_KERNELS_SOFTMAX_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_SOFTMAX_SIMD_H_

#include <cstdint>
#include <limits>

#include "cc/kernels/simd_exp.h"
#include "cc/kernels/simd_logits.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// Calls visit(v, logits, count) for the frame in vectors: count lanes hold classes v … v+count-1,
// further lanes hold -inf.
template <typename Logit, typename Visit>
WARPCTC_INLINE void ForEachVector(const Logit* frame, int64_t num_classes, const Visit& visit) {
  using Real = RealOf<Logit>;
  int64_t v = 0;
  for (; v + kLanes<Real> <= num_classes; v += kLanes<Real>) {
    visit(v, LoadLogits(frame + v), kLanes<Real>);
  }
  if (v < num_classes) {
    const int count = static_cast<int>(num_classes - v);
    visit(v, LoadSomeLogits(frame + v, count, -std::numeric_limits<Real>::infinity()), count);
  }
}

// The largest logit, NaN left out.
template <typename Logit>
WARPCTC_INLINE RealOf<Logit> FrameMax(const Logit* frame, int64_t num_classes) {
  using Real = RealOf<Logit>;
  Vec<Real> max = Vec<Real>::Broadcast(-std::numeric_limits<Real>::infinity());
  ForEachVector(frame, num_classes,
                [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA { max = Max(x, max); });
  return HorizontalMax(max);
}

// Σ e^(logit - max) ≥ 1, a vector of classes at a time.
//
// The largest logits, whose term is 1, are counted apart: added to it, each small term of a
// confident frame would be rounded at 2^-24, and the loss of a confident row is what these terms
// say.
template <typename Real>
class PowerSum {
 public:
  explicit WARPCTC_INLINE PowerSum(Real max) : max_(max) { Clear(); }

  // power: e^(logit - max).
  WARPCTC_INLINE void Add(Vec<Real> logit, Vec<Real> power) {
    const Vec<Real> max = Vec<Real>::Broadcast(max_);
    const Vec<Real> zero = Vec<Real>::Broadcast(0);
    ones_ = ones_ + SelectEqual(logit, max, Vec<Real>::Broadcast(1), zero);
    others_ = others_ + SelectEqual(logit, max, zero, power);
  }

  // Adds up the lanes in double. To be called once a block of vectors, so that the rounding of long
  // float sums does not grow with V, and before Total.
  WARPCTC_INLINE void EndBlock() {
    total_ones_ += HorizontalSum(ones_);
    total_others_ += HorizontalSum(others_);
    Clear();
  }

  // NaN if a logit was NaN or +inf, or all were -inf.
  WARPCTC_INLINE double Total() const {
    const bool finite = max_ - max_ == 0;
    return finite ? total_ones_ + total_others_ : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  WARPCTC_INLINE void Clear() { ones_ = others_ = Vec<Real>::Broadcast(0); }

  Real max_;
  Vec<Real> ones_;
  Vec<Real> others_;
  double total_ones_ = 0;
  double total_others_ = 0;
};

template <typename Logit>
WARPCTC_INLINE double FrameSum(const Logit* frame, int64_t num_classes, RealOf<Logit> max) {
  using Real = RealOf<Logit>;
  constexpr int64_t kBlock = 64 * kLanes<Real>;
  const Vec<Real> max_vector = Vec<Real>::Broadcast(max);
  PowerSum<Real> sum(max);
  for (int64_t v = 0; v < num_classes; v += kBlock) {
    const int64_t count = num_classes - v < kBlock ? num_classes - v : kBlock;
    ForEachVector(frame + v, count, [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA {
      sum.Add(x, ExpOfNonPositive(x - max_vector));
    });
    sum.EndBlock();
  }
  return sum.Total();
}

// gradient = softmax - occupancy, of `count` classes; softmax and occupancy already scaled.
template <typename Logit>
WARPCTC_INLINE void StoreGradient(Vec<RealOf<Logit>> softmax, const RealOf<Logit>* occupancy,
                                  int count, Logit* gradient) {
  using Real = RealOf<Logit>;
  if (count == kLanes<Real>) {
    StoreLogits(softmax - Vec<Real>::Load(occupancy), gradient);
  } else {
    StoreSomeLogits(softmax - LoadSome(occupancy, count, Real(0)), gradient, count);
  }
}

// gradient(v) = scale · softmax(v) - occupancy(v), one read and one write of the frame. occupancy:
// [V], already scaled.
template <typename Logit>
WARPCTC_INLINE void WriteFrameGradient(const Logit* frame, int64_t num_classes, RealOf<Logit> max,
                                       RealOf<Logit> sum, RealOf<Logit> scale,
                                       const RealOf<Logit>* occupancy, Logit* gradient) {
  using Real = RealOf<Logit>;
  const Vec<Real> max_vector = Vec<Real>::Broadcast(max);
  const Vec<Real> factor = Vec<Real>::Broadcast(scale / sum);
  ForEachVector(frame, num_classes, [&](int64_t v, Vec<Real> x, int count) WARPCTC_INLINE_LAMBDA {
    StoreGradient(ExpOfNonPositive(x - max_vector) * factor, occupancy + v, count, gradient + v);
  });
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SOFTMAX_SIMD_H_
