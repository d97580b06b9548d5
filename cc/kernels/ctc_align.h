// Merging repeats and dropping blanks in rows of ids, as greedy decoding does after its argmax.

#ifndef TF_WARPCTC_CC_KERNELS_CTC_ALIGN_H_
#define TF_WARPCTC_CC_KERNELS_CTC_ALIGN_H_

#include <cstdint>

#include "cc/kernels/parallel.h"

namespace warpctc {

template <typename Id>  // int32_t or int64_t
struct CtcAlignProblem {
  const Id* ids;            // row b: ids[base[b]] … ids[base[b] + length[b] - 1]
  int64_t batch;            // B
  const int64_t* base;      // [B]
  const int64_t* length;    // [B]
  const int64_t* capacity;  // [B] elements of row b in memory, ≥ length[b]
  Id blank;
  Id padding;  // written behind a row's tokens, up to its capacity
  bool merge_repeated;
};

// aligned: addressed as the ids are; may be the ids themselves. lengths: [B] tokens of each row.
template <typename Id>
void CtcAlign(const CtcAlignProblem<Id>& problem, Id* aligned, Id* lengths, const WorkerPool& pool);

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_CTC_ALIGN_H_
