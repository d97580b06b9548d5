// One native vector register: what the compiler's vector extension lacks.
//
// The only file with intrinsics. Each function has a portable form, which is what other processors
// than x86-64 get, and which says what the others do: all forms give the same bits, but for
// NativeMultiplyAdd.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_NATIVE_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_NATIVE_H_

#include <cstdint>

#include "cc/kernels/scaled.h"
#include "cc/kernels/simd_level.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define WARPCTC_INLINE inline __attribute__((always_inline))
// The same for a lambda, between its parameters and its body.
#define WARPCTC_INLINE_LAMBDA __attribute__((always_inline))

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

#if defined(__AVX512F__)
constexpr int kNativeBytes = 64;
#elif defined(__AVX2__)
constexpr int kNativeBytes = 32;
#else
constexpr int kNativeBytes = 16;
#endif

template <typename T>
struct NativeVector;
template <>
struct NativeVector<float> {
  typedef float type __attribute__((vector_size(kNativeBytes)));
  typedef float unaligned
      __attribute__((vector_size(kNativeBytes), aligned(alignof(float)), may_alias));
  typedef int32_t mask __attribute__((vector_size(kNativeBytes)));
};
template <>
struct NativeVector<double> {
  typedef double type __attribute__((vector_size(kNativeBytes)));
  typedef double unaligned
      __attribute__((vector_size(kNativeBytes), aligned(alignof(double)), may_alias));
  typedef int64_t mask __attribute__((vector_size(kNativeBytes)));
};

using NativeFloats = NativeVector<float>::type;
using NativeDoubles = NativeVector<double>::type;

template <typename T>
constexpr int kNativeLanes = kNativeBytes / static_cast<int>(sizeof(T));

// a > b ? a : b in every lane: with NaN in a it gives b; NaN in b stays.
// (The masked forms of AVX-512: GCC 12 warns of an uninitialised value inside its unmasked ones.)
WARPCTC_INLINE NativeFloats NativeMax(NativeFloats a, NativeFloats b) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (NativeFloats)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
  return (NativeFloats)_mm_max_ps((__m128)a, (__m128)b);
#else
  return a > b ? a : b;
#endif
}
WARPCTC_INLINE NativeDoubles NativeMax(NativeDoubles a, NativeDoubles b) {
#if defined(__AVX512F__)
  return (NativeDoubles)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  return (NativeDoubles)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__x86_64__)
  return (NativeDoubles)_mm_max_pd((__m128d)a, (__m128d)b);
#else
  return a > b ? a : b;
#endif
}

#if defined(__AVX2__) || defined(__aarch64__)
constexpr bool kHasFusedMultiplyAdd = true;
#else
constexpr bool kHasFusedMultiplyAdd = false;
#endif

// a · b + c, rounded once; twice where the processor has no such instruction.
WARPCTC_INLINE NativeFloats NativeMultiplyAdd(NativeFloats a, NativeFloats b, NativeFloats c) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
  return (NativeFloats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (NativeFloats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}
WARPCTC_INLINE NativeDoubles NativeMultiplyAdd(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
#if defined(__AVX512F__)
  return (NativeDoubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
  return (NativeDoubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
  return (NativeDoubles)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

// The lanes of v moved up by one, the first filled with the last of `before`.
WARPCTC_INLINE NativeFloats NativeShiftUp(NativeFloats before, NativeFloats v) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_maskz_alignr_epi32(0xffff, (__m512i)v, (__m512i)before, 15);
#elif defined(__AVX2__)
  const __m256i middle = _mm256_permute2x128_si256((__m256i)before, (__m256i)v, 0x21);
  return (NativeFloats)_mm256_alignr_epi8((__m256i)v, middle, 12);
#elif defined(__clang__)
  return __builtin_shufflevector(before, v, 3, 4, 5, 6);
#else
  return __builtin_shuffle(before, v, NativeVector<float>::mask{3, 4, 5, 6});
#endif
}
WARPCTC_INLINE NativeDoubles NativeShiftUp(NativeDoubles before, NativeDoubles v) {
#if defined(__AVX512F__)
  return (NativeDoubles)_mm512_maskz_alignr_epi64(0xff, (__m512i)v, (__m512i)before, 7);
#elif defined(__AVX2__)
  const __m256i middle = _mm256_permute2x128_si256((__m256i)before, (__m256i)v, 0x21);
  return (NativeDoubles)_mm256_alignr_epi8((__m256i)v, middle, 8);
#else
  return NativeDoubles{before[1], v[0]};
#endif
}

// The lanes of v moved down by one, the last filled with the first of `after`.
WARPCTC_INLINE NativeFloats NativeShiftDown(NativeFloats v, NativeFloats after) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_maskz_alignr_epi32(0xffff, (__m512i)after, (__m512i)v, 1);
#elif defined(__AVX2__)
  const __m256i middle = _mm256_permute2x128_si256((__m256i)v, (__m256i)after, 0x21);
  return (NativeFloats)_mm256_alignr_epi8(middle, (__m256i)v, 4);
#elif defined(__clang__)
  return __builtin_shufflevector(v, after, 1, 2, 3, 4);
#else
  return __builtin_shuffle(v, after, NativeVector<float>::mask{1, 2, 3, 4});
#endif
}
WARPCTC_INLINE NativeDoubles NativeShiftDown(NativeDoubles v, NativeDoubles after) {
#if defined(__AVX512F__)
  return (NativeDoubles)_mm512_maskz_alignr_epi64(0xff, (__m512i)after, (__m512i)v, 1);
#elif defined(__AVX2__)
  const __m256i middle = _mm256_permute2x128_si256((__m256i)v, (__m256i)after, 0x21);
  return (NativeDoubles)_mm256_alignr_epi8(middle, (__m256i)v, 8);
#else
  return NativeDoubles{v[1], after[0]};
#endif
}

// Four vectors of floats, or two of doubles, transposed within each 16 bytes.
WARPCTC_INLINE void NativeTranspose(NativeFloats (&v)[4]) {
#if defined(__AVX512F__)
  const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps((__m512)v[0], (__m512)v[1]));
  const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps((__m512)v[0], (__m512)v[1]));
  const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps((__m512)v[2], (__m512)v[3]));
  const __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps((__m512)v[2], (__m512)v[3]));
  v[0] = (NativeFloats)_mm512_unpacklo_pd(low01, low23);
  v[1] = (NativeFloats)_mm512_unpackhi_pd(low01, low23);
  v[2] = (NativeFloats)_mm512_unpacklo_pd(high01, high23);
  v[3] = (NativeFloats)_mm512_unpackhi_pd(high01, high23);
#elif defined(__AVX2__)
  const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps((__m256)v[0], (__m256)v[1]));
  const __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps((__m256)v[0], (__m256)v[1]));
  const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps((__m256)v[2], (__m256)v[3]));
  const __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps((__m256)v[2], (__m256)v[3]));
  v[0] = (NativeFloats)_mm256_unpacklo_pd(low01, low23);
  v[1] = (NativeFloats)_mm256_unpackhi_pd(low01, low23);
  v[2] = (NativeFloats)_mm256_unpacklo_pd(high01, high23);
  v[3] = (NativeFloats)_mm256_unpackhi_pd(high01, high23);
#else
  static_assert(kNativeLanes<float> == 4);
  const NativeFloats from[4] = {v[0], v[1], v[2], v[3]};
  for (int i = 0; i < 4; ++i) v[i] = NativeFloats{from[0][i], from[1][i], from[2][i], from[3][i]};
#endif
}
WARPCTC_INLINE void NativeTranspose(NativeDoubles (&v)[2]) {
#if defined(__AVX512F__)
  const __m512d low = _mm512_unpacklo_pd((__m512d)v[0], (__m512d)v[1]);
  v[1] = (NativeDoubles)_mm512_unpackhi_pd((__m512d)v[0], (__m512d)v[1]);
#elif defined(__AVX2__)
  const __m256d low = _mm256_unpacklo_pd((__m256d)v[0], (__m256d)v[1]);
  v[1] = (NativeDoubles)_mm256_unpackhi_pd((__m256d)v[0], (__m256d)v[1]);
#else
  static_assert(kNativeLanes<double> == 2);
  const NativeDoubles low{v[0][0], v[1][0]};
  v[1] = NativeDoubles{v[0][1], v[1][1]};
#endif
  v[0] = (NativeDoubles)low;
}

#if defined(__AVX512F__)
// m · 2^d, d integral.
WARPCTC_INLINE NativeFloats NativeScale(NativeFloats m, NativeFloats d) {
  return (NativeFloats)_mm512_maskz_scalef_ps(0xffff, (__m512)m, (__m512)d);
}
WARPCTC_INLINE NativeDoubles NativeScale(NativeDoubles m, NativeDoubles d) {
  return (NativeDoubles)_mm512_maskz_scalef_pd(0xff, (__m512d)m, (__m512d)d);
}
#endif

// The nearest integer, ties to even; a number too large to have a fraction, infinity and NaN stay.
template <typename Real, typename Native>
WARPCTC_INLINE Native PortableRound(Native x) {
  constexpr Real kRounder = FloatBits<Real>::kRounder;
  constexpr Real kNoFraction = kRounder / 4;
  const Native rounded = (x + kRounder) - kRounder;
  const auto small = (x < kNoFraction) & (x > -kNoFraction);
  return small ? rounded : x;
}
WARPCTC_INLINE NativeFloats NativeRound(NativeFloats x) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_maskz_roundscale_ps(0xffff, (__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__AVX2__)
  return (NativeFloats)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  return PortableRound<float>(x);
#endif
}
WARPCTC_INLINE NativeDoubles NativeRound(NativeDoubles x) {
#if defined(__AVX512F__)
  return (NativeDoubles)_mm512_maskz_roundscale_pd(0xff, (__m512d)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__AVX2__)
  return (NativeDoubles)_mm256_round_pd((__m256d)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  return PortableRound<double>(x);
#endif
}

// The first `count` lanes from memory, 0 < count < lanes; the others get `fill`. Memory beyond is
// not touched.
WARPCTC_INLINE NativeFloats NativeLoadSome(const float* p, int count, float fill) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), (1u << count) - 1u, p);
#elif defined(__AVX2__)
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), index);
  const __m256 loaded = _mm256_maskload_ps(p, mask);
  return (NativeFloats)_mm256_blendv_ps(_mm256_set1_ps(fill), loaded, _mm256_castsi256_ps(mask));
#else
  NativeFloats v = fill - NativeFloats{};
  for (int i = 0; i < count; ++i) v[i] = p[i];
  return v;
#endif
}
WARPCTC_INLINE NativeDoubles NativeLoadSome(const double* p, int count, double fill) {
#if defined(__AVX512F__)
  return (NativeDoubles)_mm512_mask_loadu_pd(_mm512_set1_pd(fill), (1u << count) - 1u, p);
#else
  NativeDoubles v = fill - NativeDoubles{};
  for (int i = 0; i < count; ++i) v[i] = p[i];
  return v;
#endif
}

// The first `count` lanes to memory, 0 < count < lanes.
WARPCTC_INLINE void NativeStoreSome(NativeFloats v, float* p, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, (1u << count) - 1u, (__m512)v);
#else
  for (int i = 0; i < count; ++i) p[i] = v[i];
#endif
}
WARPCTC_INLINE void NativeStoreSome(NativeDoubles v, double* p, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, (1u << count) - 1u, (__m512d)v);
#else
  for (int i = 0; i < count; ++i) p[i] = v[i];
#endif
}

// The lanes folded in halves: lane i with lane i + n/2, then i + n/4 …, down to one.
struct Add {
  template <typename V>
  WARPCTC_INLINE V operator()(V a, V b) const {
    return a + b;
  }
};
struct Larger {
  template <typename V>
  WARPCTC_INLINE V operator()(V a, V b) const {
    return a > b ? a : b;
  }
};
template <typename Fold>
WARPCTC_INLINE float NativeFold(NativeFloats x, const Fold& fold) {
#if defined(__x86_64__)
#if defined(__AVX512F__)
  const __m256 eight =
      fold(_mm512_castps512_ps256((__m512)x), _mm512_extractf32x8_ps((__m512)x, 1));
#elif defined(__AVX2__)
  const __m256 eight = (__m256)x;
#endif
#if defined(__AVX2__)
  __m128 four = fold(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
  __m128 four = (__m128)x;
#endif
  four = fold(four, _mm_movehl_ps(four, four));
  return fold(four[0], four[1]);
#else
  for (int width = kNativeLanes<float> / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x[i] = fold(x[i], x[i + width]);
  }
  return x[0];
#endif
}
template <typename Fold>
WARPCTC_INLINE double NativeFold(NativeDoubles x, const Fold& fold) {
#if defined(__x86_64__)
#if defined(__AVX512F__)
  const __m256d four =
      fold(_mm512_castpd512_pd256((__m512d)x), _mm512_extractf64x4_pd((__m512d)x, 1));
#elif defined(__AVX2__)
  const __m256d four = (__m256d)x;
#endif
#if defined(__AVX2__)
  const __m128d two = fold(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
#else
  const __m128d two = (__m128d)x;
#endif
  return fold(two[0], two[1]);
#else
  for (int width = kNativeLanes<double> / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x[i] = fold(x[i], x[i + width]);
  }
  return x[0];
#endif
}

// The low and the high half of the lanes as doubles, and back.
WARPCTC_INLINE void NativeWiden(NativeFloats x, NativeDoubles* low, NativeDoubles* high) {
#if defined(__AVX512F__)
  *low = (NativeDoubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
  *high = (NativeDoubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
#elif defined(__AVX2__)
  *low = (NativeDoubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
  *high = (NativeDoubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
#elif defined(__x86_64__)
  *low = (NativeDoubles)_mm_cvtps_pd((__m128)x);
  *high = (NativeDoubles)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
#else
  for (int i = 0; i < kNativeLanes<double>; ++i) {
    (*low)[i] = x[i];
    (*high)[i] = x[i + kNativeLanes<double>];
  }
#endif
}
WARPCTC_INLINE NativeFloats NativeNarrow(NativeDoubles low, NativeDoubles high) {
#if defined(__AVX512F__)
  return (NativeFloats)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                          _mm512_cvtpd_ps((__m512d)high), 1);
#elif defined(__AVX2__)
  return (NativeFloats)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)low)),
                                            _mm256_cvtpd_ps((__m256d)high), 1);
#elif defined(__x86_64__)
  return (NativeFloats)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
#else
  NativeFloats x;
  for (int i = 0; i < kNativeLanes<double>; ++i) {
    x[i] = static_cast<float>(low[i]);
    x[i + kNativeLanes<double>] = static_cast<float>(high[i]);
  }
  return x;
#endif
}

// table[index] in every lane.
WARPCTC_INLINE NativeFloats NativeGather(const float* table, NativeVector<float>::mask index) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return (NativeFloats)_mm256_i32gather_ps(table, (__m256i)index, sizeof(float));
#else
  NativeFloats v{};
  for (int i = 0; i < kNativeLanes<float>; ++i) v[i] = table[index[i]];
  return v;
#endif
}
WARPCTC_INLINE NativeDoubles NativeGather(const double* table, NativeVector<double>::mask index) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return (NativeDoubles)_mm256_i64gather_pd(table, (__m256i)index, sizeof(double));
#else
  NativeDoubles v{};
  for (int i = 0; i < kNativeLanes<double>; ++i) v[i] = table[index[i]];
  return v;
#endif
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_NATIVE_H_
