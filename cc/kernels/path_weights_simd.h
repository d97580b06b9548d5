// How much the paths through each state of a frame weigh, for the gradient: alpha · pre_beta or
// pre_alpha · beta, what comes before a state without its emission times what was saved with it.

#ifndef TF_WARPCTC_CC_KERNELS_PATH_WEIGHTS_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_PATH_WEIGHTS_SIMD_H_

#include <cstdint>

#include "cc/kernels/arena.h"
#include "cc/kernels/half_row_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// Those of a block of frames, each frame's divided by some power of two: a frame's are only
// compared with one another.
template <typename Real>
struct PathWeights {
  int64_t stride;
  Real* labels;  // [block, stride] through each label
  Real* blanks;  // [block, a vector] through all blanks, once its lanes are added up
  Real* all;     // [block, a vector] through all states, likewise

  static PathWeights Take(Arena& arena, const HalfRowSizes& sizes) {
    PathWeights weights;
    weights.stride = sizes.width + 2 * kLanes<Real>;
    weights.labels = arena.Take<Real>(sizes.block * weights.stride) + kLanes<Real>;
    weights.blanks = arena.Take<Real>(sizes.block * kLanes<Real>);
    weights.all = arena.Take<Real>(sizes.block * kLanes<Real>);
    return weights;
  }

  // [width] of frame i; zero in the vectors next to the frame's range.
  Real* Labels(int64_t i) const { return labels + i * stride; }
  Real* Blanks(int64_t i) const { return blanks + i * kLanes<Real>; }
  Real* All(int64_t i) const { return all + i * kLanes<Real>; }
};

// The visitor of a step that weighs the paths of its frame.
template <typename Real>
class PathWeigher {
 public:
  // exponent: the power of two to divide by; no weight may exceed it by much. labels: [width] gets
  // the weights of the labels in the step's range.
  WARPCTC_INLINE PathWeigher(const SavedRow<const Real*>& saved, Real exponent, Real* labels)
      : saved_(saved),
        exponent_(Vec<Real>::Broadcast(exponent)),
        labels_(labels),
        of_blanks_(Vec<Real>::Broadcast(0)),
        of_labels_(Vec<Real>::Broadcast(0)) {}

  WARPCTC_INLINE void operator()(int64_t u, ScaledVec<Real> blank, ScaledVec<Real> label) {
    const Vec<Real> through_label = Weigh(label, saved_.Label(u));
    through_label.Store(labels_ + u);
    of_labels_ = of_labels_ + through_label;
    of_blanks_ = of_blanks_ + Weigh(blank, saved_.Blank(u));
  }

  // After a step over `range`: the rest of what frame i is to hold.
  WARPCTC_INLINE void Finish(ReachableRange range, int64_t i, const PathWeights<Real>& weights) {
    const Vec<Real> zero = Vec<Real>::Broadcast(0);
    zero.Store(labels_ + range.begin - kLanes<Real>);
    zero.Store(labels_ + range.end);
    of_blanks_.Store(weights.Blanks(i));
    (of_blanks_ + of_labels_).Store(weights.All(i));
  }

 private:
  WARPCTC_INLINE Vec<Real> Weigh(ScaledVec<Real> here, ScaledVec<Real> saved) const {
    const ScaledVec<Real> weight = PathWeight(here, saved);
    return ScaleDown(weight.mantissa, weight.exponent - exponent_);
  }

  SavedRow<const Real*> saved_;
  Vec<Real> exponent_;
  Real* labels_;
  Vec<Real> of_blanks_;
  Vec<Real> of_labels_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_PATH_WEIGHTS_SIMD_H_
