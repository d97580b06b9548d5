// Vectors of one width for every machine: 64 bytes, 16 floats or 8 doubles.
//
// A Vec is as many native registers as make 64 bytes (one with AVX-512, two with AVX2, four with
// SSE2 or NEON), so a kernel is written once, and sums are formed in the same order everywhere:
// with contraction to fused multiply-add switched off, every level gives the same bits. The
// arithmetic is the compiler's vector extension (GCC, Clang); the few things it lacks are functions
// here.
//
// Only *_simd.cc files include this.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_H_

#include <cstdint>
#include <cstring>

#include "cc/kernels/logit_types.h"
#include "cc/kernels/scaled.h"
#include "cc/kernels/simd_level.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define WARPCTC_INLINE inline __attribute__((always_inline))

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

#if defined(__AVX512F__)
constexpr int kNativeBytes = 64;
#elif defined(__AVX2__)
constexpr int kNativeBytes = 32;
#else
constexpr int kNativeBytes = 16;
#endif

constexpr int kVectorBytes = 64;
constexpr int kParts = kVectorBytes / kNativeBytes;

template <typename T>
struct NativeVector;
template <>
struct NativeVector<float> {
  typedef float type __attribute__((vector_size(kNativeBytes)));
  typedef int32_t mask __attribute__((vector_size(kNativeBytes)));
};
template <>
struct NativeVector<double> {
  typedef double type __attribute__((vector_size(kNativeBytes)));
  typedef int64_t mask __attribute__((vector_size(kNativeBytes)));
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

template <typename Real>
struct Vec {
  using Native = typename NativeVector<Real>::type;
  using Mask = typename NativeVector<Real>::mask;
  static constexpr int kLanes = kVectorBytes / sizeof(Real);
  static constexpr int kNativeLanes = kNativeBytes / sizeof(Real);

  Native part[kParts];

  static WARPCTC_INLINE Vec Broadcast(Real x) {
    Vec v;
    for (Native& part : v.part) part = x - Native{};  // vector - vector of a scalar broadcasts it
    return v;
  }

  // p: any alignment.
  static WARPCTC_INLINE Vec Load(const Real* p) {
    Vec v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  }
  WARPCTC_INLINE void Store(Real* p) const { std::memcpy(p, this, sizeof(*this)); }
};

template <typename Real>
constexpr int kLanes = Vec<Real>::kLanes;

// Applies an expression in a[i], b[i] … to every native part.
#define WARPCTC_PARTWISE(result, expression) \
  Vec<Real> result;                          \
  for (int i = 0; i < kParts; ++i) result.part[i] = (expression)

template <typename Real>
WARPCTC_INLINE Vec<Real> operator+(Vec<Real> a, Vec<Real> b) {
  WARPCTC_PARTWISE(r, a.part[i] + b.part[i]);
  return r;
}
template <typename Real>
WARPCTC_INLINE Vec<Real> operator-(Vec<Real> a, Vec<Real> b) {
  WARPCTC_PARTWISE(r, a.part[i] - b.part[i]);
  return r;
}
template <typename Real>
WARPCTC_INLINE Vec<Real> operator*(Vec<Real> a, Vec<Real> b) {
  WARPCTC_PARTWISE(r, a.part[i] * b.part[i]);
  return r;
}

// (The masked forms of AVX-512: GCC 12 warns of an uninitialised value inside its unmasked ones.)
WARPCTC_INLINE NativeVector<float>::type NativeMax(NativeVector<float>::type a,
                                                   NativeVector<float>::type b) {
#if defined(__AVX512F__)
  return (NativeVector<float>::type)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (NativeVector<float>::type)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
  return (NativeVector<float>::type)_mm_max_ps((__m128)a, (__m128)b);
#else
  return a > b ? a : b;
#endif
}
WARPCTC_INLINE NativeVector<double>::type NativeMax(NativeVector<double>::type a,
                                                    NativeVector<double>::type b) {
#if defined(__AVX512F__)
  return (NativeVector<double>::type)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  return (NativeVector<double>::type)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__x86_64__)
  return (NativeVector<double>::type)_mm_max_pd((__m128d)a, (__m128d)b);
#else
  return a > b ? a : b;
#endif
}

// a > b ? a : b in every lane. With NaN in a it gives b; NaN in b stays: the running maximum
// belongs in b.
template <typename Real>
WARPCTC_INLINE Vec<Real> Max(Vec<Real> a, Vec<Real> b) {
  WARPCTC_PARTWISE(r, NativeMax(a.part[i], b.part[i]));
  return r;
}

// a > b ? x : y in every lane.
template <typename Real>
WARPCTC_INLINE Vec<Real> SelectGreater(Vec<Real> a, Vec<Real> b, Vec<Real> x, Vec<Real> y) {
  WARPCTC_PARTWISE(r, a.part[i] > b.part[i] ? x.part[i] : y.part[i]);
  return r;
}

// seen, with NaN in the lanes where x is NaN.
template <typename Real>
WARPCTC_INLINE Vec<Real> KeepNan(Vec<Real> x, Vec<Real> seen) {
  WARPCTC_PARTWISE(r, x.part[i] == x.part[i] ? seen.part[i] : x.part[i]);
  return r;
}

// The nearest integer; x itself where |x| is too large to have a fraction, infinite or NaN.
template <typename Real>
WARPCTC_INLINE Vec<Real> RoundToInteger(Vec<Real> x) {
  constexpr Real kRounder = FloatBits<Real>::kRounder;
  constexpr Real kNoFraction = kRounder / 4;
  Vec<Real> r;
  for (int i = 0; i < kParts; ++i) {
    const auto rounded = (x.part[i] + kRounder) - kRounder;
    const auto small = (x.part[i] < kNoFraction) & (x.part[i] > -kNoFraction);
    r.part[i] = small ? rounded : x.part[i];
  }
  return r;
}

// m · 2^d for integral d ≤ 0, and 0 where 2^d is not a normal number. Exact.
template <typename Real>
WARPCTC_INLINE Vec<Real> ScaleDown(Vec<Real> m, Vec<Real> d) {
  using Bits = FloatBits<Real>;
  using Mask = typename Vec<Real>::Mask;
  // Biased exponent 0 is the number 0: what lies below lands there. The rounder moves the integer
  // into the low mantissa bits.
  d = Max(d, Vec<Real>::Broadcast(-Bits::kBias));
  Vec<Real> r;
  for (int i = 0; i < kParts; ++i) {
    const Mask biased = (Mask)(d.part[i] + (Bits::kRounder + Bits::kBias));
    r.part[i] = m.part[i] * (typename Vec<Real>::Native)(biased << Bits::kMantissaBits);
  }
  return r;
}

// m ≥ 0 becomes mantissa · 2^exponent with mantissa in [1, 2), or 0; the exponent is added to
// *exponent. Zero adds -bias, which vanishes in the exponent that a zero has.
template <typename Real>
WARPCTC_INLINE Vec<Real> Normalize(Vec<Real> m, Vec<Real>* exponent) {
  using Bits = FloatBits<Real>;
  using Mask = typename Vec<Real>::Mask;
  using Native = typename Vec<Real>::Native;
  using Int = typename Bits::Int;
  // As bits: the number 2^mantissa_bits, whose low mantissa bits then hold the biased exponent.
  constexpr Int kIntegerBase = Int(Bits::kBias + Bits::kMantissaBits) << Bits::kMantissaBits;
  constexpr Real kIntegerBaseValue = Real(Int(1) << Bits::kMantissaBits);
  constexpr Int kExponentField = Int(2 * Bits::kBias + 1) << Bits::kMantissaBits;
  constexpr Int kTwiceBias = Int(2 * Bits::kBias) << Bits::kMantissaBits;
  Vec<Real> r;
  for (int i = 0; i < kParts; ++i) {
    const Mask bits = (Mask)m.part[i];
    const Native biased = (Native)((bits >> Bits::kMantissaBits) | kIntegerBase);
    exponent->part[i] += biased - (kIntegerBaseValue + Bits::kBias);
    r.part[i] = m.part[i] * (Native)(kTwiceBias - (bits & kExponentField));
  }
  return r;
}

// The lanes, combined in a fixed order.
template <typename Real>
WARPCTC_INLINE Real HorizontalSum(Vec<Real> v) {
  Real lane[kLanes<Real>];
  v.Store(lane);
  for (int width = kLanes<Real> / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}
template <typename Real>
WARPCTC_INLINE Real HorizontalMax(Vec<Real> v) {
  Real lane[kLanes<Real>];
  v.Store(lane);
  for (int width = kLanes<Real> / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] = lane[i] > lane[i + width] ? lane[i] : lane[i + width];
  }
  return lane[0];
}

#undef WARPCTC_PARTWISE

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_H_
