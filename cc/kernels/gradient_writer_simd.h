// From the weights of the paths through the states of a block of frames to the gradient of their
// logits: added up by class, as "occupancy", and taken off the softmax.
//
//   gradient(t, v) = upstream · (softmax(t, v) - occupancy(t, v) / Σ_v' occupancy(t, v'))
//
// The paths are divided by their weight as the frame has it, not by the row's likelihood. The two
// differ by the rounding of up to T steps: so each frame's gradient adds up to zero.

#ifndef TF_WARPCTC_CC_KERNELS_GRADIENT_WRITER_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_GRADIENT_WRITER_SIMD_H_

#include <cstdint>

#include "cc/kernels/arena.h"
#include "cc/kernels/emission_block_simd.h"
#include "cc/kernels/half_row_simd.h"
#include "cc/kernels/row.h"
#include "cc/kernels/simd_groups.h"
#include "cc/kernels/simd_logits.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct GradientWriterScratch {
  using Index = typename FloatBits<Real>::Int;
  static constexpr int64_t kTableRoom = kLargestTableVectors * kGroupSize<Real> * kLanes<Real>;

  Real* occupancy;  // gathered: [V rounded up to whole vectors]; tables: [2, kTableRoom]
  Real* groups;     // tables: [width, group] the weights of a group of frames
  Index* place;     // tables: [width] the place in a table of the label whose group it is

  static GradientWriterScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    const int64_t whole = (sizes.num_classes + kLanes<Real> - 1) / kLanes<Real> * kLanes<Real>;
    GradientWriterScratch scratch;
    scratch.occupancy = arena.Take<Real>(whole > 2 * kTableRoom ? whole : 2 * kTableRoom);
    scratch.groups = arena.Take<Real>(sizes.width * kGroupSize<Real>);
    scratch.place = arena.Take<Index>(sizes.width);
    return scratch;
  }
};

// What a writer is told of its row.
template <typename Logit>
struct GradientTarget {
  using Real = RealOf<Logit>;

  const Row<Logit>& row;
  const Real* normalizers;  // [T, 2] of the row
  Real upstream;
  Logit* gradient;  // of the row, addressed as the logits are

  Logit* Frame(int64_t t) const { return gradient + t * row.stride; }
  Real SoftmaxFactor(int64_t t) const { return upstream / normalizers[2 * t + 1]; }
};

// factor · power - share · occupancy, of `count` classes.
template <typename Logit>
WARPCTC_INLINE void StoreGradient(Vec<RealOf<Logit>> power, RealOf<Logit> factor,
                                  Vec<RealOf<Logit>> occupancy, RealOf<Logit> share, int count,
                                  Logit* gradient) {
  using Real = RealOf<Logit>;
  const Vec<Real> paths = occupancy * Vec<Real>::Broadcast(-share);
  const Vec<Real> value = MultiplyAdd(power, Vec<Real>::Broadcast(factor), paths);
  if (count == kLanes<Real>) {
    StoreLogits(value, gradient);
  } else {
    StoreSomeLogits(value, gradient, count);
  }
}

// Constructed of a target, the sizes, the block's emissions, the weights and scratch;
// Write(steps) writes the gradient of a block of frames.
template <typename Emissions>
class GradientWriter;

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_GRADIENT_WRITER_SIMD_H_
