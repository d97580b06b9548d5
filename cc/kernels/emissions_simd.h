// What a frame says of each label of the row, q(t, label u) = e^(logit - largest), and of the
// blank; with the softmax over all classes, which reads the same logits.
//
// Two ways, chosen by the number of classes:
//
// - GatheredEmissions, for many classes. The passes over V are those of softmax_simd.h; the logits
//   of the row's labels are gathered and raised to powers on their own.
// - TableEmissions, for few. All V powers are computed once, as mantissas and exponents, and serve
//   as the normaliser, as the emissions of all labels, and as the gradient's softmax.

#ifndef TF_WARPCTC_CC_KERNELS_EMISSIONS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_EMISSIONS_SIMD_H_

#include <cstdint>
#include <limits>

#include "cc/kernels/arena.h"
#include "cc/kernels/recursion_simd.h"
#include "cc/kernels/row.h"
#include "cc/kernels/simd_exp.h"
#include "cc/kernels/simd_logits.h"
#include "cc/kernels/simd_table.h"
#include "cc/kernels/softmax_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct EmissionScratch {
  using Index = typename FloatBits<Real>::Int;

  Real* label_logits;  // [width] gathered: of the frame
  Index* label_class;  // [width] table: of the row

  static EmissionScratch Take(Arena& arena, int64_t width) {
    return {arena.Take<Real>(width), arena.Take<Index>(width)};
  }
};

// The emissions before any frame: all one. Turns a step into the sum of its incoming paths.
template <typename Real>
struct UnitEmissions {
  WARPCTC_INLINE ScaledVec<Real> Label(int64_t) const {
    return ScaledVec<Real>::Broadcast(Scaled<Real>::One());
  }
  WARPCTC_INLINE Scaled<Real> Blank() const { return Scaled<Real>::One(); }
};

template <typename Logit>
class GatheredEmissions {
  using Real = RealOf<Logit>;

 public:
  GatheredEmissions(const Row<Logit>& row, int64_t width, const EmissionScratch<Real>& scratch)
      : row_(row), label_logits_(scratch.label_logits) {
    for (int64_t u = row.label_length; u < width; ++u) {
      label_logits_[u] = -std::numeric_limits<Real>::infinity();
    }
  }

  // Of a frame seen for the first time: also gives its normaliser.
  WARPCTC_INLINE void LoadFrame(const Logit* frame, ReachableRange range, Real* max, double* sum) {
    NormalizeFrame(frame, row_.num_classes, max, sum);
    LoadFrame(frame, range, *max);
  }
  WARPCTC_INLINE void LoadFrame(const Logit* frame, ReachableRange range, Real max) {
    frame_ = frame;
    max_ = max;
    const int64_t end = LabelEnd(row_, range);
    for (int64_t u = range.begin; u < end; ++u) label_logits_[u] = ToReal(frame[row_.label[u]]);
    Vec<Real> mantissa, exponent;
    ScaledExp(Vec<Real>::Broadcast(ToReal(frame[row_.blank])), double(max), &mantissa, &exponent);
    blank_ = {mantissa.part[0][0], exponent.part[0][0]};
  }

  WARPCTC_INLINE ScaledVec<Real> Label(int64_t u) const {
    ScaledVec<Real> q;
    ScaledExp(Vec<Real>::Load(label_logits_ + u), double(max_), &q.mantissa, &q.exponent);
    return q;
  }
  WARPCTC_INLINE Scaled<Real> Blank() const { return blank_; }

  // gradient(v) = scale · softmax(v) - occupancy(v).
  WARPCTC_INLINE void WriteGradient(Real sum, Real scale, const Real* occupancy,
                                    Logit* gradient) const {
    WriteFrameGradient(frame_, row_.num_classes, max_, sum, scale, occupancy, gradient);
  }

 private:
  const Row<Logit>& row_;
  Real* label_logits_;
  const Logit* frame_;
  Real max_;
  Scaled<Real> blank_;
};

// For V < kVectors whole vectors: the last lane is always free, and what labels past the row's own
// point to: no logit, hence -inf and emission zero.
template <typename Logit, int kVectors>
class TableEmissions {
  using Real = RealOf<Logit>;
  using Index = typename FloatBits<Real>::Int;

 public:
  static constexpr int64_t kCapacity = kVectors * kLanes<Real>;

  TableEmissions(const Row<Logit>& row, int64_t width, const EmissionScratch<Real>& scratch)
      : row_(row), label_class_(scratch.label_class) {
    for (int64_t u = 0; u < width; ++u) {
      scratch.label_class[u] = u < row.label_length ? row.label[u] : kCapacity - 1;
    }
  }

  WARPCTC_INLINE void LoadFrame(const Logit* frame, ReachableRange, Real* max, double* sum) {
    Vec<Real> logits[kVectors];
    LoadLogits(frame, logits);
    Vec<Real> largest = Vec<Real>::Broadcast(-std::numeric_limits<Real>::infinity());
    for (const Vec<Real>& x : logits) largest = Max(x, largest);
    *max = HorizontalMax(largest);
    Raise(logits, *max);
    PowerSum<Real> powers(*max);
    for (int i = 0; i < kVectors; ++i) {
      powers.Add(logits[i], Align(mantissa_.Get(i), exponent_.Get(i)));
    }
    // Not finite: a logit is +inf, or all are -inf.
    *sum = *max - *max == 0 ? powers.Total() : std::numeric_limits<double>::quiet_NaN();
  }
  WARPCTC_INLINE void LoadFrame(const Logit* frame, ReachableRange, Real max) {
    Vec<Real> logits[kVectors];
    LoadLogits(frame, logits);
    Raise(logits, max);
  }

  WARPCTC_INLINE ScaledVec<Real> Label(int64_t u) const {
    const auto index = IndexVec<Real>::Load(label_class_ + u);
    return {mantissa_.Find(index), exponent_.Find(index)};
  }
  WARPCTC_INLINE Scaled<Real> Blank() const {
    return {mantissa_.At(row_.blank), exponent_.At(row_.blank)};
  }

  WARPCTC_INLINE void WriteGradient(Real sum, Real scale, const Real* occupancy,
                                    Logit* gradient) const {
    const Vec<Real> factor = Vec<Real>::Broadcast(scale / sum);
    for (int i = 0; i < kVectors; ++i) {
      const int64_t v = i * kLanes<Real>;
      const int64_t rest = row_.num_classes - v;
      if (rest <= 0) break;
      const Vec<Real> power = ScaleDown(mantissa_.Get(i), exponent_.Get(i));
      const int count = static_cast<int>(rest < kLanes<Real> ? rest : kLanes<Real>);
      StoreGradient(power, factor, occupancy + v, count, gradient + v);
    }
  }

 private:
  WARPCTC_INLINE void LoadLogits(const Logit* frame, Vec<Real>* logits) const {
    constexpr Real kNone = -std::numeric_limits<Real>::infinity();
    for (int i = 0; i < kVectors; ++i) {
      const int64_t rest = row_.num_classes - i * kLanes<Real>;
      logits[i] = rest >= kLanes<Real> ? warpctc::LoadLogits(frame + i * kLanes<Real>)
                  : rest > 0
                      ? LoadSomeLogits(frame + i * kLanes<Real>, static_cast<int>(rest), kNone)
                      : Vec<Real>::Broadcast(kNone);
    }
  }
  WARPCTC_INLINE void Raise(const Vec<Real>* logits, Real max) {
    for (int i = 0; i < kVectors; ++i) {
      Vec<Real> mantissa, exponent;
      ScaledExp(logits[i], double(max), &mantissa, &exponent);
      mantissa_.Set(i, mantissa);
      exponent_.Set(i, exponent);
    }
  }

  const Row<Logit>& row_;
  const Index* label_class_;
  Table<Real, kVectors> mantissa_;
  Table<Real, kVectors> exponent_;
};

// Calls visit(emissions) with the kind that suits the row.
template <typename Logit, typename Visit>
WARPCTC_INLINE auto WithEmissions(const Row<Logit>& row, int64_t width,
                                  const EmissionScratch<RealOf<Logit>>& scratch,
                                  const Visit& visit) {
  if (row.num_classes < TableEmissions<Logit, 2>::kCapacity) {
    return visit(TableEmissions<Logit, 2>(row, width, scratch));
  }
  if (row.num_classes < TableEmissions<Logit, 5>::kCapacity) {
    return visit(TableEmissions<Logit, 5>(row, width, scratch));
  }
  return visit(GatheredEmissions<Logit>(row, width, scratch));
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_EMISSIONS_SIMD_H_
