// Vectors of one width for every machine: 64 bytes, 16 floats or 8 doubles.
//
// A Vec is as many native registers as make 64 bytes (one with AVX-512, two with AVX2, four with
// SSE2 or NEON), so a kernel is written once, and sums are formed in the same order everywhere. The
// compiler must not contract to fused multiply-add on its own; MultiplyAdd does, where it is said.
// So all levels which have that instruction give the same bits: all but the x86-64 baseline, where
// a power of two may differ in its last bit.
//
// The arithmetic is the compiler's vector extension (GCC, Clang); the few things it lacks are
// functions here.
//
// Only *_simd.cc files include this.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_H_

#include <cstdint>

#include "cc/kernels/logit_types.h"
#include "cc/kernels/scaled.h"
#include "cc/kernels/simd_level.h"
#include "cc/kernels/simd_native.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

constexpr int kVectorBytes = 64;
constexpr int kParts = kVectorBytes / kNativeBytes;

template <typename Real>
struct Vec {
  using Native = typename NativeVector<Real>::type;
  using Unaligned = typename NativeVector<Real>::unaligned;
  using Mask = typename NativeVector<Real>::mask;
  static constexpr int kLanes = kVectorBytes / sizeof(Real);

  Native part[kParts];

  static WARPCTC_INLINE Vec Broadcast(Real x) {
    Vec v;
    for (Native& part : v.part) part = x - Native{};  // vector - vector of a scalar broadcasts it
    return v;
  }

  // p: aligned as a Real is. Part by part: a copy of the whole goes through the stack.
  static WARPCTC_INLINE Vec Load(const Real* p) {
    Vec v;
    for (int i = 0; i < kParts; ++i) {
      v.part[i] = *reinterpret_cast<const Unaligned*>(p + i * kNativeLanes<Real>);
    }
    return v;
  }
  WARPCTC_INLINE void Store(Real* p) const {
    for (int i = 0; i < kParts; ++i) {
      *reinterpret_cast<Unaligned*>(p + i * kNativeLanes<Real>) = part[i];
    }
  }
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

// a · b + c, rounded once where the processor can.
template <typename Real>
WARPCTC_INLINE Vec<Real> MultiplyAdd(Vec<Real> a, Vec<Real> b, Vec<Real> c) {
  WARPCTC_PARTWISE(r, NativeMultiplyAdd(a.part[i], b.part[i], c.part[i]));
  return r;
}
template <typename Real>
WARPCTC_INLINE Vec<Real> operator-(Vec<Real> a) {
  WARPCTC_PARTWISE(r, -a.part[i]);
  return r;
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

// a == b ? x : y in every lane.
template <typename Real>
WARPCTC_INLINE Vec<Real> SelectEqual(Vec<Real> a, Vec<Real> b, Vec<Real> x, Vec<Real> y) {
  WARPCTC_PARTWISE(r, a.part[i] == b.part[i] ? x.part[i] : y.part[i]);
  return r;
}

// Lane i gets lane i - 1 of v, the first the last lane of `before`.
template <typename Real>
WARPCTC_INLINE Vec<Real> ShiftUp(Vec<Real> before, Vec<Real> v) {
  WARPCTC_PARTWISE(r, NativeShiftUp(i == 0 ? before.part[kParts - 1] : v.part[i - 1], v.part[i]));
  return r;
}
// Lane i gets lane i + 1 of v, the last the first lane of `after`.
template <typename Real>
WARPCTC_INLINE Vec<Real> ShiftDown(Vec<Real> v, Vec<Real> after) {
  WARPCTC_PARTWISE(r, NativeShiftDown(v.part[i], i == kParts - 1 ? after.part[0] : v.part[i + 1]));
  return r;
}

// The nearest integer, ties to even; x itself where it is too large to have a fraction, infinite or
// NaN.
template <typename Real>
WARPCTC_INLINE Vec<Real> RoundToInteger(Vec<Real> x) {
  WARPCTC_PARTWISE(r, NativeRound(x.part[i]));
  return r;
}

// m · 2^d for integral d ≤ bias, and 0 where 2^d is not a normal number. Exact.
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

// As ScaleDown, to be added to a number of exponent 0: what is below 2^-bias may be zero or not,
// since the sum is the same. One instruction with AVX-512.
template <typename Real>
WARPCTC_INLINE Vec<Real> Align(Vec<Real> m, Vec<Real> d) {
#if defined(__AVX512F__)
  Vec<Real> r;
  r.part[0] = NativeScale(m.part[0], d.part[0]);
  return r;
#else
  return ScaleDown(m, d);
#endif
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

// The lanes folded in halves, the same way at every level.
template <typename Real, typename FoldTwo>
WARPCTC_INLINE Real Fold(Vec<Real> v, const FoldTwo& fold) {
  for (int count = kParts / 2; count > 0; count /= 2) {
    for (int i = 0; i < count; ++i) v.part[i] = fold(v.part[i], v.part[i + count]);
  }
  return NativeFold(v.part[0], fold);
}
template <typename Real>
WARPCTC_INLINE Real HorizontalSum(Vec<Real> v) {
  return Fold(v, Add());
}
template <typename Real>
WARPCTC_INLINE Real HorizontalMax(Vec<Real> v) {
  return Fold(v, Larger());
}

// The first `count` lanes, 0 < count < lanes; the others get `fill`. Memory beyond is not touched.
template <typename Real>
WARPCTC_INLINE Vec<Real> LoadSome(const Real* p, int count, Real fill) {
  constexpr int kNative = kNativeLanes<Real>;
  Vec<Real> v = Vec<Real>::Broadcast(fill);
  for (int i = 0; i < kParts; ++i) {
    const int rest = count - i * kNative;
    const Real* part = p + i * kNative;
    if (rest >= kNative) {
      v.part[i] = *reinterpret_cast<const typename Vec<Real>::Unaligned*>(part);
    } else if (rest > 0) {
      v.part[i] = NativeLoadSome(part, rest, fill);
    }
  }
  return v;
}
template <typename Real>
WARPCTC_INLINE void StoreSome(Vec<Real> v, Real* p, int count) {
  constexpr int kNative = kNativeLanes<Real>;
  for (int i = 0; i < kParts; ++i) {
    const int rest = count - i * kNative;
    Real* part = p + i * kNative;
    if (rest >= kNative) {
      *reinterpret_cast<typename Vec<Real>::Unaligned*>(part) = v.part[i];
    } else if (rest > 0) {
      NativeStoreSome(v.part[i], part, rest);
    }
  }
}

// Lanes 0-7 and 8-15 as doubles, and back.
WARPCTC_INLINE void Widen(Vec<float> x, Vec<double>* low, Vec<double>* high) {
  NativeDoubles wide[2 * kParts];
  for (int i = 0; i < kParts; ++i) NativeWiden(x.part[i], &wide[2 * i], &wide[2 * i + 1]);
  for (int i = 0; i < kParts; ++i) {
    low->part[i] = wide[i];
    high->part[i] = wide[kParts + i];
  }
}
WARPCTC_INLINE Vec<float> Narrow(Vec<double> low, Vec<double> high) {
  NativeDoubles wide[2 * kParts];
  for (int i = 0; i < kParts; ++i) {
    wide[i] = low.part[i];
    wide[kParts + i] = high.part[i];
  }
  Vec<float> x;
  for (int i = 0; i < kParts; ++i) x.part[i] = NativeNarrow(wide[2 * i], wide[2 * i + 1]);
  return x;
}

#undef WARPCTC_PARTWISE

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_H_
