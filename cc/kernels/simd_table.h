// Looking numbers up in a small table, a whole vector of indices at a time.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_TABLE_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_TABLE_H_

#include <cstdint>

#include "cc/kernels/simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// Integers of the width of a Real, one a lane.
template <typename Real>
struct IndexVec {
  using Index = typename FloatBits<Real>::Int;
  using Native = typename NativeVector<Real>::mask;

  Native part[kParts];

  static WARPCTC_INLINE IndexVec Load(const Index* p) {
    typedef Index Unaligned
        __attribute__((vector_size(kNativeBytes), aligned(alignof(Index)), may_alias));
    IndexVec v;
    for (int i = 0; i < kParts; ++i) {
      v.part[i] = *reinterpret_cast<const Unaligned*>(p + i * kNativeLanes<Real>);
    }
    return v;
  }
};

// kVectors vectors of numbers. Find looks up every lane of an index in [0, kVectors · lanes).
//
// AVX-512 takes the table into registers and permutes two of them at a time; elsewhere it stays in
// memory, where AVX2 gathers and others load lane by lane.
template <typename Real, int kVectors>
class Table {
 public:
  // values: [kVectors · lanes], there for as long as the table.
  explicit WARPCTC_INLINE Table(const Real* values) {
#if defined(__AVX512F__)
    for (int i = 0; i < kVectors; ++i) values_[i] = Vec<Real>::Load(values + i * kLanes<Real>);
#else
    values_ = values;
#endif
  }

  WARPCTC_INLINE Vec<Real> Find(IndexVec<Real> index) const {
    Vec<Real> found;
#if defined(__AVX512F__)
    found.part[0] = Permute(values_[0], values_[kVectors > 1 ? 1 : 0], index.part[0]);
    for (int i = 2; i < kVectors; i += 2) {
      const auto next = Permute(values_[i], values_[i + 1 < kVectors ? i + 1 : i], index.part[0]);
      found.part[0] = index.part[0] < i * kLanes<Real> ? found.part[0] : next;
    }
#else
    for (int i = 0; i < kParts; ++i) found.part[i] = NativeGather(values_, index.part[i]);
#endif
    return found;
  }

 private:
#if defined(__AVX512F__)
  static WARPCTC_INLINE NativeFloats Permute(Vec<float> a, Vec<float> b,
                                             NativeVector<float>::mask index) {
    return (NativeFloats)_mm512_permutex2var_ps((__m512)a.part[0], (__m512i)index,
                                                (__m512)b.part[0]);
  }
  static WARPCTC_INLINE NativeDoubles Permute(Vec<double> a, Vec<double> b,
                                              NativeVector<double>::mask index) {
    return (NativeDoubles)_mm512_permutex2var_pd((__m512d)a.part[0], (__m512i)index,
                                                 (__m512d)b.part[0]);
  }

  Vec<Real> values_[kVectors];
#else
  const Real* values_;
#endif
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_TABLE_H_
