// Numbers of a few frames side by side: a group, 16 bytes, the same for every machine.
//
// A vector holds kGroups groups. To transpose a group's worth of vectors, one a frame, brings each
// lane's numbers together: lane e of all of them becomes group GroupPlace(e).

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_GROUPS_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_GROUPS_H_

#include <cstdint>

#include "cc/kernels/simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

constexpr int kGroupBytes = 16;
constexpr int kGroups = kVectorBytes / kGroupBytes;

// Frames in a group.
template <typename Real>
constexpr int kGroupSize = kGroupBytes / static_cast<int>(sizeof(Real));

template <typename Real>
struct GroupOf {
  typedef Real type __attribute__((vector_size(kGroupBytes), may_alias));
};
template <typename Real>
using Group = typename GroupOf<Real>::type;

// Aligned to a group.
template <typename Real>
WARPCTC_INLINE Group<Real> LoadGroupAt(const Real* p) {
  return *reinterpret_cast<const Group<Real>*>(p);
}
template <typename Real>
WARPCTC_INLINE void AddToGroup(Group<Real> x, Real* p) {
  *reinterpret_cast<Group<Real>*>(p) += x;
}

// Where the group of index e stands, among those of the vector that e is in.
template <typename Real>
WARPCTC_INLINE int64_t GroupPlace(int64_t e) {
  const int64_t lane = e % kLanes<Real>;
  return e - lane + lane % kGroupSize<Real> * kGroups + lane / kGroupSize<Real>;
}

// rows: [kGroupSize] vectors. Its own inverse.
template <typename Real>
WARPCTC_INLINE void TransposeGroups(Vec<Real>* rows) {
  for (int i = 0; i < kParts; ++i) {
    typename Vec<Real>::Native parts[kGroupSize<Real>];
    for (int k = 0; k < kGroupSize<Real>; ++k) parts[k] = rows[k].part[i];
    NativeTranspose(parts);
    for (int k = 0; k < kGroupSize<Real>; ++k) rows[k].part[i] = parts[k];
  }
}

// The sum over the lanes of each of kGroupSize vectors.
template <typename Real>
WARPCTC_INLINE Group<Real> SumOfEach(Vec<Real>* rows) {
  TransposeGroups(rows);
  for (int count = kGroupSize<Real> / 2; count > 0; count /= 2) {
    for (int k = 0; k < count; ++k) rows[k] = rows[k] + rows[k + count];
  }
  alignas(kVectorBytes) Real lanes[kLanes<Real>];
  rows[0].Store(lanes);
  const auto group = [&](int i) { return LoadGroupAt(lanes + i * kGroupSize<Real>); };
  static_assert(kGroups == 4);
  return (group(0) + group(2)) + (group(1) + group(3));
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_GROUPS_H_
