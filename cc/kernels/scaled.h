// The number format of the recursions: value = mantissa · 2^exponent.
//
// Probabilities of CTC paths underflow every floating-point type within a few hundred frames. Log
// space avoids that at the price of exp and log in the inner loop, and of absolute precision that
// fades as the logarithm grows: float32 log space loses about 1e-4 at T = 3000. A (mantissa,
// exponent) pair has the range of log space, adds and multiplies with plain arithmetic, and keeps
// the full relative precision of its mantissa at any length.
//
// The exponent is an integer *held in floating point*. It is exact up to 2^24 (2^53 for double);
// past that it rounds, as a logarithm would, so logits of ±1e30 give a finite loss and no integer
// overflows. It also costs nothing: the vector units scale by a floating-point exponent (x86
// vscalef), or rebuild the bits with one add and one shift (see simd.h).
//
// Zero is mantissa 0 with exponent kZeroExponent. The low exponent matters: sums align to the
// larger exponent, so a zero with a high exponent would flush its neighbour.
//
// Compiles for host and device.

#ifndef TF_WARPCTC_CC_KERNELS_SCALED_H_
#define TF_WARPCTC_CC_KERNELS_SCALED_H_

#include <string.h>

#include <cmath>
#include <cstdint>

#include "cc/kernels/simd_level.h"

#if defined(__CUDACC__)
#define WARPCTC_HOST_DEVICE __host__ __device__
#else
#define WARPCTC_HOST_DEVICE
#endif

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// The exponent of zero. Low enough that no sum of logits comes near, and no lower than that a few
// dozen of them add up to a finite number. A loss beyond its logarithm, 7e36 for float, counts as
// infinite.
template <typename Real>
constexpr Real kZeroExponent = Real(-1e37);
template <>
constexpr double kZeroExponent<double> = -1e300;

template <typename Real>
struct Scaled {
  Real mantissa;
  Real exponent;

  static WARPCTC_HOST_DEVICE Scaled Zero() { return {Real(0), kZeroExponent<Real>}; }
  static WARPCTC_HOST_DEVICE Scaled One() { return {Real(1), Real(0)}; }
};

// Layout of the IEEE types.
template <typename Real>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Int = int32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr float kRounder = 12582912.0f;  // 1.5·2^23: adding it leaves an integer
};
template <>
struct FloatBits<double> {
  using Int = int64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr double kRounder = 6755399441055744.0;  // 1.5·2^52
};

// The mantissa of a normal number into [1, 2). Zero, infinity and NaN stay.
template <typename Real>
WARPCTC_HOST_DEVICE inline Scaled<Real> Normalized(Scaled<Real> x) {
  using Bits = FloatBits<Real>;
  using Int = typename Bits::Int;
  constexpr Int kSpecial = 2 * Bits::kBias + 1;
  Int bits;
  memcpy(&bits, &x.mantissa, sizeof(bits));
  const Int biased = (bits >> Bits::kMantissaBits) & kSpecial;
  if (biased == 0 || biased == kSpecial) return x;
  bits += (Bits::kBias - biased) * (Int(1) << Bits::kMantissaBits);
  memcpy(&x.mantissa, &bits, sizeof(bits));
  x.exponent += Real(biased - Bits::kBias);
  return x;
}

template <typename Real>
WARPCTC_HOST_DEVICE inline Scaled<Real> operator*(Scaled<Real> x, Scaled<Real> y) {
  Scaled<Real> product{x.mantissa * y.mantissa, x.exponent + y.exponent};
  if (product.exponent < kZeroExponent<Real>) product.exponent = kZeroExponent<Real>;
  return Normalized(product);
}

// m · 2^d for d ≤ 0, zero where that underflows.
template <typename Real>
WARPCTC_HOST_DEVICE inline Real ScaleDown(Real m, Real d) {
  return d < Real(-1000) ? m * Real(0) : std::ldexp(m, static_cast<int>(d));
}

template <typename Real>
WARPCTC_HOST_DEVICE inline Scaled<Real> operator+(Scaled<Real> x, Scaled<Real> y) {
  const Real top = x.exponent > y.exponent ? x.exponent : y.exponent;
  return {ScaleDown(x.mantissa, x.exponent - top) + ScaleDown(y.mantissa, y.exponent - top), top};
}

// Natural logarithm of x / y, in double. The mantissas are divided first, so that no digits cancel
// when x and y are close.
template <typename Real>
inline double LogRatio(Scaled<double> x, Scaled<Real> y) {
  constexpr double kLn2 = 0.693147180559945309417232121458;
  return std::log(x.mantissa / static_cast<double>(y.mantissa)) +
         (x.exponent - static_cast<double>(y.exponent)) * kLn2;
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SCALED_H_
