// The emissions of a block of frames, where a half of a row keeps them between loading them and
// stepping through them.
//
// A block at a time, because the frames' exponentials do not wait for one another, while the steps
// of a recursion do: side by side, a processor overlaps the first, and runs the second without
// interruption. In the gradient they also serve twice, for the rows computed again and for its own.

#ifndef TF_WARPCTC_CC_KERNELS_EMISSION_BLOCK_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_EMISSION_BLOCK_SIMD_H_

#include <cstdint>

#include "cc/kernels/arena.h"
#include "cc/kernels/recursion_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// More classes than this are not held as a table.
constexpr int kLargestTableVectors = 5;

template <typename Real>
struct EmissionBlock {
  using Index = typename FloatBits<Real>::Int;

  // Numbers of a frame: for labels and blank, or for all classes of a table.
  int64_t frame_size;
  Real* mantissas;     // [frames, frame_size]
  Real* exponents;     // the same
  Real* max;           // [frames] largest logit
  double* sum;         // [frames] Σ e^(logit - max); NaN for a frame whose loss is NaN
  Index* label_class;  // [width] where a label of the row lies in a frame

  static EmissionBlock Take(Arena& arena, int64_t frames, int64_t width) {
    constexpr int64_t kTable = kLargestTableVectors * kLanes<Real>;
    EmissionBlock block;
    block.frame_size = width + kLanes<Real> > kTable ? width + kLanes<Real> : kTable;
    block.mantissas = arena.Take<Real>(frames * block.frame_size);
    block.exponents = arena.Take<Real>(frames * block.frame_size);
    block.max = arena.Take<Real>(frames);
    block.sum = arena.Take<double>(frames);
    block.label_class = arena.Take<Index>(width);
    return block;
  }

  WARPCTC_INLINE Real* Mantissas(int64_t frame) const { return mantissas + frame * frame_size; }
  WARPCTC_INLINE Real* Exponents(int64_t frame) const { return exponents + frame * frame_size; }
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_EMISSION_BLOCK_SIMD_H_
