// Powers of two on vectors: what softmax needs, without a call of libm.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_EXP_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_EXP_H_

#include "cc/kernels/simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

constexpr double kLog2E = 1.44269504088896340735992468100189;

// Coefficients of 2^f on [-1/2, 1/2], lowest power first: Chebyshev fits, made with
//   mpmath.chebyfit(lambda x: mpf(2)**x, [-0.5, 0.5], degree + 1)
// Largest error before rounding: 2.0e-9 at degree 6, 3.2e-18 at degree 11. 2^0 is exactly 1.
template <typename Real>
struct Exp2Polynomial;
template <>
struct Exp2Polynomial<float> {
  static constexpr int kDegree = 6;
  static constexpr float kCoefficients[kDegree + 1] = {
      1.0f,
      0.69314720670283259577f,
      0.24022650922288758071f,
      0.055503272266703020589f,
      0.0096180566785246380754f,
      0.001340042817761583794f,
      0.00015461444698569129083f,
  };
};
template <>
struct Exp2Polynomial<double> {
  static constexpr int kDegree = 11;
  static constexpr double kCoefficients[kDegree + 1] = {
      1.0,
      0.69314718055994530925,
      0.24022650695910159567,
      0.055504108664821627039,
      0.0096181291075872566681,
      0.0013333558146406470697,
      0.00015403530463724354209,
      0.000015252733841556772589,
      1.3215432535912376166e-6,
      1.0178057087733941105e-7,
      7.0741942972885210056e-9,
      4.455817908336064493e-10,
  };
};

// 2^f for |f| ≤ 1/2: in [0.70, 1.42]. NaN stays NaN.
template <typename Real>
WARPCTC_INLINE Vec<Real> Exp2OfFraction(Vec<Real> f) {
  using Polynomial = Exp2Polynomial<Real>;
  Vec<Real> sum = Vec<Real>::Broadcast(Polynomial::kCoefficients[Polynomial::kDegree]);
  for (int k = Polynomial::kDegree - 1; k >= 0; --k) {
    sum = MultiplyAdd(sum, f, Vec<Real>::Broadcast(Polynomial::kCoefficients[k]));
  }
  return sum;
}

// e^x for x ≤ 0, and exactly 0 where that is below the normal numbers. NaN stays NaN.
template <typename Real>
WARPCTC_INLINE Vec<Real> ExpOfNonPositive(Vec<Real> x) {
  using Bits = FloatBits<Real>;
  using Mask = typename Vec<Real>::Mask;
  constexpr Real kLn2 = Real(0.693147180559945309417232121458);
  // Adding it to a number rounds that to an integer, whose biased exponent is then in the low bits.
  constexpr Real kBiasedRounder = Bits::kRounder + Bits::kBias;
  const Vec<Real> rounder = Vec<Real>::Broadcast(kBiasedRounder);
  const Vec<Real> log2_e = Vec<Real>::Broadcast(Real(kLog2E));
  // Down to 2^-bias, whose biased exponent 0 is the number 0. NaN is kept by Max in b.
  x = Max(Vec<Real>::Broadcast(-Bits::kBias * kLn2), x);
  const Vec<Real> biased = MultiplyAdd(x, log2_e, rounder);
  Vec<Real> power = Exp2OfFraction(MultiplyAdd(x, log2_e, rounder - biased));
  for (int i = 0; i < kParts; ++i) {
    const Mask scale = (Mask)biased.part[i] << Bits::kMantissaBits;
    power.part[i] = power.part[i] * (typename Vec<Real>::Native)scale;
  }
  return power;
}

// 2^(whole + fraction) as mantissa · 2^exponent: full relative precision however small it is. A
// whole of -inf gives zero.
template <typename Real>
WARPCTC_INLINE void ScaledExp2(Vec<Real> whole, Vec<Real> fraction, Vec<Real>* mantissa,
                               Vec<Real>* exponent) {
  const Vec<Real> zero_exponent = Vec<Real>::Broadcast(kZeroExponent<Real>);
  *mantissa =
      SelectGreater(zero_exponent, whole, Vec<Real>::Broadcast(0), Exp2OfFraction(fraction));
  *exponent = Max(zero_exponent, whole);
}

// e^(x - max) as mantissa · 2^exponent, for many x. An x of -inf gives zero, NaN gives NaN, max
// itself exactly 1.
template <typename Real>
class ScaledExp;

template <>
class ScaledExp<double> {
 public:
  explicit WARPCTC_INLINE ScaledExp(double max) : max_(max) {}

  WARPCTC_INLINE void Raise(Vec<double> x, Vec<double>* mantissa, Vec<double>* exponent) const {
    Vec<double> whole, fraction;
    Split(x, &whole, &fraction);
    ScaledExp2(whole, fraction, mantissa, exponent);
  }

  // whole + fraction = (x - max) · log2(e).
  WARPCTC_INLINE void Split(Vec<double> x, Vec<double>* whole, Vec<double>* fraction) const {
    const Vec<double> z = (x - Vec<double>::Broadcast(max_)) * Vec<double>::Broadcast(kLog2E);
    *whole = RoundToInteger(z);
    *fraction = z - *whole;
  }

 private:
  double max_;
};

// In float, the difference x - max and its product with log2(e) would each carry an error of
// |x - max| · 2^-24, visible once logits are large. With fused multiply-add they can be had
// exactly:
//
//   x · log2(e) - max · log2(e) = n + (x · log2(e) - n - m) - (max · log2(e) - m)
//
// with integers n and m, of which m is near max · log2(e) and n near the result. For the largest
// logits, and on processors without the instruction, the same in double, at twice the time.
template <>
class ScaledExp<float> {
 public:
  explicit WARPCTC_INLINE ScaledExp(float max)
      : in_double_(static_cast<double>(max)), fused_(kHasFusedMultiplyAdd && IsModerate(max)) {
    const Vec<float> maxes = Vec<float>::Broadcast(max);
    log2_max_ = maxes * Vec<float>::Broadcast(kHigh);
    whole_max_ = RoundToInteger(log2_max_);
    fraction_max_ = Remainder(maxes, whole_max_);
  }

  WARPCTC_INLINE void Raise(Vec<float> x, Vec<float>* mantissa, Vec<float>* exponent) const {
    Vec<float> whole, fraction;
    if (fused_) {
      SplitFused(x, &whole, &fraction);
    } else {
      SplitInDouble(x, &whole, &fraction);
    }
    ScaledExp2(whole, fraction, mantissa, exponent);
  }

 private:
  static constexpr float kHigh = static_cast<float>(kLog2E);
  static constexpr float kLow = static_cast<float>(kLog2E - kHigh);

  // Integers up to 2^24 are exact, products with log2(e) included.
  static WARPCTC_INLINE bool IsModerate(float max) { return max < 4194304 && max > -4194304; }

  // x · log2(e) - whole, for a whole near the product.
  static WARPCTC_INLINE Vec<float> Remainder(Vec<float> x, Vec<float> whole) {
    return MultiplyAdd(x, Vec<float>::Broadcast(kLow),
                       MultiplyAdd(x, Vec<float>::Broadcast(kHigh), -whole));
  }

  WARPCTC_INLINE void SplitFused(Vec<float> x, Vec<float>* whole, Vec<float>* fraction) const {
    // -inf minus -inf would be NaN. The logarithm of this one is below the exponent of zero too.
    x = Max(Vec<float>::Broadcast(-2e37f), x);
    const Vec<float> first =
        RoundToInteger(MultiplyAdd(x, Vec<float>::Broadcast(kHigh), -log2_max_));
    const Vec<float> rest = Remainder(x, first + whole_max_) - fraction_max_;
    // Far from max, `first` can be one off.
    const Vec<float> second = RoundToInteger(rest);
    *whole = first + second;
    *fraction = rest - second;
  }

  WARPCTC_INLINE void SplitInDouble(Vec<float> x, Vec<float>* whole, Vec<float>* fraction) const {
    Vec<double> low, high, low_whole, high_whole, low_fraction, high_fraction;
    Widen(x, &low, &high);
    in_double_.Split(low, &low_whole, &low_fraction);
    in_double_.Split(high, &high_whole, &high_fraction);
    *whole = Narrow(low_whole, high_whole);
    *fraction = Narrow(low_fraction, high_fraction);
  }

  ScaledExp<double> in_double_;
  bool fused_;
  Vec<float> log2_max_;
  Vec<float> whole_max_;
  Vec<float> fraction_max_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_EXP_H_
