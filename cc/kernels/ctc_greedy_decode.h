// Greedy (best path) decoding on the CPU: the most probable class of each frame, repeats merged,
// blanks dropped.
//
// One pass over the logits gives each frame's class and, where wanted, its log-probability; the
// collapse then moves T small integers. Frames are independent, so a batch of one keeps all cores
// busy. Where the normaliser is not wanted the pass only compares, and runs at the speed of memory.

#ifndef TF_WARPCTC_CC_KERNELS_CTC_GREEDY_DECODE_H_
#define TF_WARPCTC_CC_KERNELS_CTC_GREEDY_DECODE_H_

#include <cstddef>
#include <cstdint>

#include "cc/kernels/logit_types.h"
#include "cc/kernels/parallel.h"
#include "cc/kernels/sequences.h"
#include "cc/kernels/simd_level.h"

namespace warpctc {

template <typename Logit>
struct CtcGreedyDecodeProblem {
  FrameBatch frames;
  const Logit* logits;
  int32_t blank;  // in [0, V)
  bool merge_repeated;
};

// Per-frame arrays hold row b's tokens at first_frame[b] … first_frame[b] + lengths[b] - 1, and
// padding from there to the row's capacity. Any pointer but `tokens` and `lengths` may be null
// where its content is not wanted. No aliasing.
template <typename Id, typename Real>  // Id: int32_t or int64_t
struct CtcGreedyDecodeResult {
  Id* tokens;        // [num_frames]
  Id* lengths;       // [B]
  Id padding;        // behind the tokens
  Real* score;       // [B] -Σ over live frames of the largest logit; NaN if a live frame has a NaN
  Id* start_frames;  // [num_frames] first frame of each token; -1 behind
  Id* end_frames;    // [num_frames] the frame after its last; -1 behind
  Real* log_probability;  // [num_frames] Σ over the token's frames of log softmax of its class; 0
                          // behind
};

template <typename Logit>
size_t CtcGreedyDecodeScratchBytes(const FrameBatch& frames);

// Ties go to the lowest class. A NaN is never the largest; a frame of nothing but NaN or -inf
// counts as class 0.
template <typename Logit, typename Id>
void CtcGreedyDecode(const CtcGreedyDecodeProblem<Logit>& problem,
                     const CtcGreedyDecodeResult<Id, RealOf<Logit>>& result, void* scratch,
                     const WorkerPool& pool, SimdLevel level);

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_CTC_GREEDY_DECODE_H_
