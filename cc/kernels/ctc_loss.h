// The CTC loss and its gradient on the CPU (Graves et al., Connectionist Temporal Classification,
// ICML 2006).
//
//   loss(b) = -log Σ over alignments π of label b, Π over frames t, softmax(logits(b, t))(π(t))
//
// Two calls, as in a training loop. CtcLoss reads the logits once and saves the residuals: each
// frame's softmax normaliser, and checkpoints of the lattice, alpha's in the first half of the
// frames and beta's in the second. CtcLossGradient reads the logits once more and writes their
// gradient once, already multiplied by the upstream gradient; rows of the lattice between two
// checkpoints are computed again, from the logits of the labels. Nothing of the size of the logits
// is kept in between.
//
// Cost of a row: O(T·V + T·U) time, and residuals of about 256 bytes a frame up to U = 500, then
// O(T·U). Halves of rows are independent tasks, so that a single row keeps two cores busy. No
// allocation, no locks, no exceptions; values must have been checked by the caller.

#ifndef TF_WARPCTC_CC_KERNELS_CTC_LOSS_H_
#define TF_WARPCTC_CC_KERNELS_CTC_LOSS_H_

#include <cstddef>
#include <cstdint>

#include "cc/kernels/lattice.h"
#include "cc/kernels/logit_types.h"
#include "cc/kernels/parallel.h"
#include "cc/kernels/sequences.h"
#include "cc/kernels/simd_level.h"

namespace warpctc {

template <typename Logit>
struct CtcLossProblem {
  FrameBatch frames;
  LabelBatch labels;
  const Logit* logits;  // addressed as `frames` says
  const int64_t*
      first_saved_row;  // [B] number of row b's first saved lattice row; see FillFirstSavedRows
  bool zero_infinity;   // a row without a possible alignment has loss 0 rather than +inf; its
                        // gradient is 0 either way
};

// What the loss leaves for the gradient. No aliasing with anything.
template <typename Real>
struct CtcLossResiduals {
  Real* normalizers;  // [num_frames, 2]: largest logit, Σ e^(logit - largest). Live frames only.
  Real* lattice;      // [saved rows, LatticeRowSize(max label length)]. Reachable states only.
  Real* likelihood;  // [B, 2]: mantissa and exponent of Σ over alignments of Π e^(logit - largest);
                     // mantissa NaN for a NaN loss
};

// Fills first_saved_row [B], and returns how many lattice rows are saved in all.
template <typename Real>
int64_t FillFirstSavedRows(const FrameBatch& frames, int64_t max_label_length,
                           int64_t* first_saved_row) {
  const int64_t interval = CheckpointInterval<Real>(max_label_length);
  int64_t rows = 0;
  for (int64_t b = 0; b < frames.batch; ++b) {
    first_saved_row[b] = rows;
    rows += SavedRows(frames.capacity[b], interval);
  }
  return rows;
}

// Bytes of scratch memory that each call needs: O(B·U + workers·U), and O(workers·(U + V)).
template <typename Logit>
size_t CtcLossScratchBytes(const FrameBatch& frames, const LabelBatch& labels, int num_workers);
template <typename Logit>
size_t CtcLossGradientScratchBytes(const FrameBatch& frames, const LabelBatch& labels,
                                   int num_workers);

// loss: [B]. residuals: each pointer may be null where its content is not wanted.
template <typename Logit>
void CtcLoss(const CtcLossProblem<Logit>& problem, RealOf<Logit>* loss,
             const CtcLossResiduals<RealOf<Logit>>& residuals, void* scratch,
             const WorkerPool& pool, SimdLevel level);

// upstream: [B] gradient of some objective with respect to the losses.
// gradient: addressed as the logits are; every frame is written, those past a row's length with
// zeros. May not alias the logits.
template <typename Logit>
void CtcLossGradient(const CtcLossProblem<Logit>& problem,
                     const CtcLossResiduals<const RealOf<Logit>>& residuals,
                     const RealOf<Logit>* upstream, Logit* gradient, void* scratch,
                     const WorkerPool& pool, SimdLevel level);

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_CTC_LOSS_H_
