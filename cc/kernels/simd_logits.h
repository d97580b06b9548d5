// Loading and storing vectors of logits of any type; they are computed in float (double for
// double).

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_LOGITS_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_LOGITS_H_

#include <cstring>

#include "cc/kernels/logit_types.h"
#include "cc/kernels/simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

WARPCTC_INLINE float FloatFromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
WARPCTC_INLINE uint32_t BitsOfFloat(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

WARPCTC_INLINE float ToReal(float x) { return x; }
WARPCTC_INLINE double ToReal(double x) { return x; }
WARPCTC_INLINE float ToReal(BFloat16 x) { return FloatFromBits(uint32_t{x.bits} << 16); }
WARPCTC_INLINE float ToReal(Half x) {
  // Moved into place, the exponent is too small by 127 - 15 = 112: the multiplication mends that,
  // for subnormals too. Infinity and NaN, whose exponent field is all ones, get float's all ones
  // instead.
  const uint32_t magnitude = uint32_t(x.bits & 0x7fff) << 13;
  const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  const float value = FloatFromBits(magnitude) * 5.192296858534828e33f;  // 2^112
  return FloatFromBits(BitsOfFloat(value) | special | (uint32_t(x.bits & 0x8000) << 16));
}

// To nearest, ties to even.
WARPCTC_INLINE void FromReal(float x, float* out) { *out = x; }
WARPCTC_INLINE void FromReal(double x, double* out) { *out = x; }
WARPCTC_INLINE void FromReal(float x, BFloat16* out) {
  const uint32_t bits = BitsOfFloat(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  out->bits = static_cast<uint16_t>(x == x ? rounded : 0x7fc0u);
}
WARPCTC_INLINE void FromReal(float x, Half* out) {
  const uint32_t bits = BitsOfFloat(x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: round 13 bits away, move the exponent by 112. Overflow lands on infinity or
  // above, and is cut there.
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Subnormal results: adding 0.5 puts the unit of the sum's last place at 2^-24, the spacing of
  // half's subnormals, so that the addition itself rounds.
  const uint32_t subnormal = BitsOfFloat(FloatFromBits(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  out->bits = static_cast<uint16_t>(result | ((bits >> 16) & 0x8000u));
}

// Vectors, through loops over lanes which the compiler vectorises.
template <typename Logit>
WARPCTC_INLINE Vec<RealOf<Logit>> LoadLogits(const Logit* p) {
  using Real = RealOf<Logit>;
  Real lane[kLanes<Real>];
  for (int i = 0; i < kLanes<Real>; ++i) lane[i] = ToReal(p[i]);
  return Vec<Real>::Load(lane);
}
WARPCTC_INLINE Vec<float> LoadLogits(const float* p) { return Vec<float>::Load(p); }
WARPCTC_INLINE Vec<double> LoadLogits(const double* p) { return Vec<double>::Load(p); }

template <typename Logit>
WARPCTC_INLINE void StoreLogits(Vec<RealOf<Logit>> v, Logit* p) {
  using Real = RealOf<Logit>;
  Real lane[kLanes<Real>];
  v.Store(lane);
  for (int i = 0; i < kLanes<Real>; ++i) FromReal(lane[i], p + i);
}
WARPCTC_INLINE void StoreLogits(Vec<float> v, float* p) { v.Store(p); }
WARPCTC_INLINE void StoreLogits(Vec<double> v, double* p) { v.Store(p); }

// The first `count` < lanes elements; the other lanes get `fill`. Reads and writes nothing beyond.
template <typename Logit>
WARPCTC_INLINE Vec<RealOf<Logit>> LoadSomeLogits(const Logit* p, int count, RealOf<Logit> fill) {
  using Real = RealOf<Logit>;
  Real lane[kLanes<Real>];
  for (int i = 0; i < kLanes<Real>; ++i) lane[i] = fill;
  for (int i = 0; i < count; ++i) lane[i] = ToReal(p[i]);
  return Vec<Real>::Load(lane);
}
WARPCTC_INLINE Vec<float> LoadSomeLogits(const float* p, int count, float fill) {
  return LoadSome(p, count, fill);
}
WARPCTC_INLINE Vec<double> LoadSomeLogits(const double* p, int count, double fill) {
  return LoadSome(p, count, fill);
}
template <typename Logit>
WARPCTC_INLINE void StoreSomeLogits(Vec<RealOf<Logit>> v, Logit* p, int count) {
  using Real = RealOf<Logit>;
  Real lane[kLanes<Real>];
  v.Store(lane);
  for (int i = 0; i < count; ++i) FromReal(lane[i], p + i);
}

WARPCTC_INLINE void StoreSomeLogits(Vec<float> v, float* p, int count) { StoreSome(v, p, count); }
WARPCTC_INLINE void StoreSomeLogits(Vec<double> v, double* p, int count) { StoreSome(v, p, count); }

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_LOGITS_H_
