// From a path of classes, one a frame, to tokens: merge repeats, drop blanks.

#ifndef TF_WARPCTC_CC_KERNELS_COLLAPSE_H_
#define TF_WARPCTC_CC_KERNELS_COLLAPSE_H_

#include <cstdint>

#include "cc/kernels/simd_level.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// Calls emit(j, token, start, end) for token j of the path, read at frames [start, end). Returns
// the number of tokens.
//
// With merge_repeated a token is a run of equal classes; two runs of one class with a blank between
// are two tokens. Without, every frame that is not blank is a token of its own. j ≤ start, so
// tokens may overwrite the path they come from.
template <typename Id, typename Emit>
inline int64_t Collapse(const Id* path, int64_t num_frames, Id blank, bool merge_repeated,
                        const Emit& emit) {
  int64_t count = 0;
  for (int64_t start = 0; start < num_frames;) {
    const Id token = path[start];
    int64_t end = start + 1;
    if (merge_repeated) {
      while (end < num_frames && path[end] == token) ++end;
    }
    if (token != blank) emit(count++, token, start, end);
    start = end;
  }
  return count;
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_COLLAPSE_H_
