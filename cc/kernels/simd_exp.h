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

// exponent + fraction = (x - max)·log2(e), in double: in float the product would carry an error of
// |x - max|·2^-24, which is visible once logits are large.
WARPCTC_INLINE void SplitLog2(Vec<double> x, double max, Vec<double>* exponent,
                              Vec<double>* fraction) {
  const Vec<double> z = (x - Vec<double>::Broadcast(max)) * Vec<double>::Broadcast(kLog2E);
  *exponent = RoundToInteger(z);
  *fraction = z - *exponent;
}

// e^(x - max) as mantissa · 2^exponent: full relative precision however small it is. An x of -inf
// gives zero, NaN gives NaN.
WARPCTC_INLINE void ScaledExp(Vec<float> x, double max, Vec<float>* mantissa,
                              Vec<float>* exponent) {
  Vec<double> low, high, low_exponent, high_exponent, low_fraction, high_fraction;
  Widen(x, &low, &high);
  SplitLog2(low, max, &low_exponent, &low_fraction);
  SplitLog2(high, max, &high_exponent, &high_fraction);
  const Vec<float> zero_exponent = Vec<float>::Broadcast(kZeroExponent<float>);
  const Vec<float> wide_exponent = Narrow(low_exponent, high_exponent);
  const Vec<float> power = Exp2OfFraction(Narrow(low_fraction, high_fraction));
  *mantissa = SelectGreater(zero_exponent, wide_exponent, Vec<float>::Broadcast(0), power);
  *exponent = Max(zero_exponent, wide_exponent);
}
WARPCTC_INLINE void ScaledExp(Vec<double> x, double max, Vec<double>* mantissa,
                              Vec<double>* exponent) {
  Vec<double> wide_exponent, fraction;
  SplitLog2(x, max, &wide_exponent, &fraction);
  const Vec<double> zero_exponent = Vec<double>::Broadcast(kZeroExponent<double>);
  *mantissa = SelectGreater(zero_exponent, wide_exponent, Vec<double>::Broadcast(0),
                            Exp2OfFraction(fraction));
  *exponent = Max(zero_exponent, wide_exponent);
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_EXP_H_
