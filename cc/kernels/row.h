// One row of the batch, as the loss walks it.

#ifndef TF_WARPCTC_CC_KERNELS_ROW_H_
#define TF_WARPCTC_CC_KERNELS_ROW_H_

#include <cstdint>

#include "cc/kernels/ctc_loss.h"
#include "cc/kernels/lattice.h"
#include "cc/kernels/simd_level.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Logit>
struct Row {
  const Logit* frames;
  int64_t stride;
  int64_t num_frames;  // T of this row
  int64_t num_classes;
  int64_t first_frame;      // number of frame 0 in the normalisers
  int64_t first_saved_row;  // number of this row's first saved lattice row
  const int32_t* label;
  int64_t label_length;  // U of this row
  int32_t blank;

  Row(const CtcLossProblem<Logit>& problem, int64_t b)
      : frames(problem.logits + problem.frames.base[b]),
        stride(problem.frames.stride),
        num_frames(problem.frames.length[b]),
        num_classes(problem.frames.num_classes),
        first_frame(problem.frames.first_frame[b]),
        first_saved_row(problem.first_saved_row[b]),
        label(problem.labels.ids + problem.labels.base[b]),
        label_length(problem.labels.length[b]),
        blank(problem.labels.blank) {}

  const Logit* Frame(int64_t t) const { return frames + t * stride; }
};

// The states that labels reach in range: those of the row's own.
template <typename Logit>
int64_t LabelEnd(const Row<Logit>& row, ReachableRange range) {
  return range.end < row.label_length ? range.end : row.label_length;
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_ROW_H_
