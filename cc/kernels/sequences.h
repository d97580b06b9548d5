// A batch of sequences of frames, in any layout.
//
// Frame (b, t) is the V contiguous elements from `base[b] + t * stride`. Three layouts are three
// ways to fill these two:
//
//   time-major  [T, B, V]                    base[b] = b·V          stride = B·V
//   batch-major [B, T, V]                    base[b] = b·T·V        stride = V
//   packed      [frames, V] with row splits  base[b] = splits[b]·V  stride = V
//
// so no layout is transposed, padded or copied to be computed.

#ifndef TF_WARPCTC_CC_KERNELS_SEQUENCES_H_
#define TF_WARPCTC_CC_KERNELS_SEQUENCES_H_

#include <cstdint>

namespace warpctc {

// All pointers: host memory, not null unless batch is 0, unchanged during a call. Lengths and
// labels have been checked.
struct FrameBatch {
  int64_t batch;          // B
  int64_t num_classes;    // V ≥ 1, with the blank
  const int64_t* base;    // [B] element offset of frame (b, 0)
  int64_t stride;         // elements from frame (b, t) to (b, t+1)
  const int64_t* length;  // [B] live frames of row b; frames from here on are never read
  const int64_t*
      capacity;  // [B] frames of row b in memory, ≥ length[b]: T when padded, length[b] when packed
  const int64_t* first_frame;  // [B] number of row b's frame 0 in per-frame arrays: b·T when
                               // padded, splits[b] when packed
  int64_t num_frames;          // Σ capacity: the length of per-frame arrays
};

struct LabelBatch {
  const int32_t* ids;  // labels of row b: ids[base[b]] … ids[base[b] + length[b] - 1], each in [0,
                       // V) and not the blank
  const int64_t* base;    // [B]
  const int64_t* length;  // [B] U of row b
  int64_t max_length;     // the largest length, or more
  int32_t blank;          // in [0, V)
};

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SEQUENCES_H_
