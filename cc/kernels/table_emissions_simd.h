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

  // Of these steps' frames, seen for the first time: their normalisers too. In passes of which each
  // has a short chain from one operation to the next, so that the processor overlaps many frames.
  template <typename Steps>
  WARPCTC_INLINE void LoadAndNormalize(const Steps& steps) const {
    for (int64_t i = 0; i < steps.count; ++i) {
      Vec<Real> logits[kVectors];
      LoadFrame(steps.Logits(i), logits);
      Vec<Real> largest = Vec<Real>::Broadcast(-std::numeric_limits<Real>::infinity());
      for (const Vec<Real>& x : logits) largest = Max(x, largest);
      block_.max[i] = HorizontalMax(largest);
    }
    Load(steps);
    for (int64_t i = 0; i < steps.count; ++i) {
      const Real max = block_.max[i];
      Vec<Real> logits[kVectors];
      LoadFrame(steps.Logits(i), logits);
      PowerSum<Real> powers(max);
      for (int k = 0; k < kVectors; ++k) powers.Add(logits[k], Power(block_, i, k));
      // Not finite: a logit is +inf, or all are -inf.
      block_.sum[i] = max - max == 0 ? powers.Total() : std::numeric_limits<double>::quiet_NaN();
    }
  }
  // Of frames whose largest logits the block holds.
  template <typename Steps>
  WARPCTC_INLINE void Load(const Steps& steps) const {
    for (int64_t i = 0; i < steps.count; ++i) {
      Vec<Real> logits[kVectors];
      LoadFrame(steps.Logits(i), logits);
      const ScaledExp<Real> exp(block_.max[i]);
      Real* mantissas = block_.Mantissas(i);
      Real* exponents = block_.Exponents(i);
      for (int k = 0; k < kVectors; ++k) {
        Vec<Real> mantissa, exponent;
        exp.Raise(logits[k], &mantissa, &exponent);
        mantissa.Store(mantissas + k * kLanes<Real>);
        exponent.Store(exponents + k * kLanes<Real>);
      }
    }
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

  // e^(logit - max) of frame i of a block, vector k of its classes.
  static WARPCTC_INLINE Vec<Real> Power(const EmissionBlock<Real>& block, int64_t i, int k) {
    return ScaleDown(Vec<Real>::Load(block.Mantissas(i) + k * kLanes<Real>),
                     Vec<Real>::Load(block.Exponents(i) + k * kLanes<Real>));
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
  const Row<Logit>& row_;
  const EmissionBlock<Real>& block_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_TABLE_EMISSIONS_SIMD_H_
