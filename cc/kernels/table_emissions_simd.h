// Emissions for few classes. All V powers of a frame are computed once, as mantissas and exponents,
// and serve as the normaliser, as the emissions of all labels, and as the gradient's softmax.

#ifndef TF_WARPCTC_CC_KERNELS_TABLE_EMISSIONS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_TABLE_EMISSIONS_SIMD_H_

#include <cstdint>
#include <limits>

#include "cc/kernels/emission_block_simd.h"
#include "cc/kernels/row.h"
#include "cc/kernels/simd_exp.h"
#include "cc/kernels/simd_logits.h"
#include "cc/kernels/simd_table.h"
#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// For V < kVectors whole vectors: the last lane is always free, and what labels past the row's own
// point to: no logit, hence -inf and emission zero.
template <typename Logit, int kVectors>
class TableEmissions {
  using Real = RealOf<Logit>;
  using Index = typename FloatBits<Real>::Int;
  static_assert(kVectors <= kLargestTableVectors);

 public:
  static constexpr int64_t kCapacity = kVectors * kLanes<Real>;

  TableEmissions(const Row<Logit>& row, int64_t width, const EmissionBlock<Real>& block)
      : row_(row), block_(block) {
    for (int64_t u = 0; u < width; ++u) {
      block.label_class[u] = u < row.label_length ? row.label[u] : kCapacity - 1;
    }
  }

  // Frame i of the block, seen for the first time: also gives its normaliser.
  WARPCTC_INLINE void Load(int64_t i, const Logit* frame, ReachableRange, Real* max,
                           double* sum) const {
    Vec<Real> logits[kVectors];
    LoadFrame(frame, logits);
    Vec<Real> largest = Vec<Real>::Broadcast(-std::numeric_limits<Real>::infinity());
    for (const Vec<Real>& x : logits) largest = Max(x, largest);
    *max = HorizontalMax(largest);
    Raise(i, logits, *max);
    PowerSum<Real> powers(*max);
    for (int k = 0; k < kVectors; ++k) powers.Add(logits[k], Power(i, k));
    // Not finite: a logit is +inf, or all are -inf.
    *sum = *max - *max == 0 ? powers.Total() : std::numeric_limits<double>::quiet_NaN();
  }
  WARPCTC_INLINE void Load(int64_t i, const Logit* frame, ReachableRange, Real max) const {
    Vec<Real> logits[kVectors];
    LoadFrame(frame, logits);
    Raise(i, logits, max);
  }

  // What a step reads of a frame.
  class Frame {
   public:
    WARPCTC_INLINE Frame(const Real* mantissas, const Real* exponents, const Index* label_class,
                         int64_t blank)
        : mantissa_(mantissas),
          exponent_(exponents),
          label_class_(label_class),
          blank_{mantissas[blank], exponents[blank]} {}

    WARPCTC_INLINE ScaledVec<Real> Label(int64_t u) const {
      const auto index = IndexVec<Real>::Load(label_class_ + u);
      return {mantissa_.Find(index), exponent_.Find(index)};
    }
    WARPCTC_INLINE Scaled<Real> Blank() const { return blank_; }

   private:
    Table<Real, kVectors> mantissa_;
    Table<Real, kVectors> exponent_;
    const Index* label_class_;
    Scaled<Real> blank_;
  };
  WARPCTC_INLINE Frame At(int64_t i) const {
    return {block_.Mantissas(i), block_.Exponents(i), block_.label_class, row_.blank};
  }

  // gradient(v) = scale · softmax(v) - occupancy(v) of frame i, whose logits these are.
  WARPCTC_INLINE void WriteGradient(int64_t i, const Logit*, Real, Real sum, Real scale,
                                    const Real* occupancy, Logit* gradient) const {
    const Vec<Real> factor = Vec<Real>::Broadcast(scale / sum);
    for (int k = 0; k < kVectors; ++k) {
      const int64_t v = k * kLanes<Real>;
      const int64_t rest = row_.num_classes - v;
      if (rest <= 0) break;
      const int count = static_cast<int>(rest < kLanes<Real> ? rest : kLanes<Real>);
      StoreGradient(Power(i, k), factor, occupancy + v, count, gradient + v);
    }
  }

 private:
  WARPCTC_INLINE void LoadFrame(const Logit* frame, Vec<Real>* logits) const {
    constexpr Real kNone = -std::numeric_limits<Real>::infinity();
    for (int k = 0; k < kVectors; ++k) {
      const int64_t rest = row_.num_classes - k * kLanes<Real>;
      logits[k] = rest >= kLanes<Real> ? LoadLogits(frame + k * kLanes<Real>)
                  : rest > 0
                      ? LoadSomeLogits(frame + k * kLanes<Real>, static_cast<int>(rest), kNone)
                      : Vec<Real>::Broadcast(kNone);
    }
  }
  WARPCTC_INLINE void Raise(int64_t i, const Vec<Real>* logits, Real max) const {
    const ScaledExp<Real> exp(max);
    for (int k = 0; k < kVectors; ++k) {
      Vec<Real> mantissa, exponent;
      exp.Raise(logits[k], &mantissa, &exponent);
      mantissa.Store(block_.Mantissas(i) + k * kLanes<Real>);
      exponent.Store(block_.Exponents(i) + k * kLanes<Real>);
    }
  }
  // e^(logit - largest) of frame i, vector k.
  WARPCTC_INLINE Vec<Real> Power(int64_t i, int k) const {
    return ScaleDown(Vec<Real>::Load(block_.Mantissas(i) + k * kLanes<Real>),
                     Vec<Real>::Load(block_.Exponents(i) + k * kLanes<Real>));
  }

  const Row<Logit>& row_;
  const EmissionBlock<Real>& block_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_TABLE_EMISSIONS_SIMD_H_
