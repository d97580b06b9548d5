// The passes over all V logits of a frame: the softmax's normaliser, and the gradient.

#ifndef TF_WARPCTC_CC_KERNELS_SOFTMAX_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_SOFTMAX_SIMD_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/kernels/simd_exp.h"
#include "cc/kernels/simd_logits.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

// Calls visit(v, logits, count) for the frame in vectors: count lanes hold classes v … v+count-1,
// further lanes hold -inf.
template <typename Logit, typename Visit>
WARPCTC_INLINE void ForEachVector(const Logit* frame, int64_t num_classes, const Visit& visit) {
  using Real = RealOf<Logit>;
  int64_t v = 0;
  // Left to itself, GCC unrolls a block of known length whole, and runs out of registers.
#pragma GCC unroll 4
  for (; v + kLanes<Real> <= num_classes; v += kLanes<Real>) {
    visit(v, LoadLogits(frame + v), kLanes<Real>);
  }
  if (v < num_classes) {
    const int count = static_cast<int>(num_classes - v);
    visit(v, LoadSomeLogits(frame + v, count, -std::numeric_limits<Real>::infinity()), count);
  }
}

// The same for the pass that is the first to read a frame. With each vector it asks the memory for
// the one `ahead` elements from it.
template <typename Logit, typename Visit>
WARPCTC_INLINE void StreamVectors(const Logit* frame, int64_t num_classes, int64_t ahead,
                                  const Visit& visit) {
  ForEachVector(frame, num_classes, [&](int64_t v, auto x, int count) WARPCTC_INLINE_LAMBDA {
    __builtin_prefetch(frame + v + ahead);
    visit(v, x, count);
  });
}

// A good distance to ask ahead at: a page, beyond which a processor does not look on its own. Where
// frames are taken in another order than memory has them, the next frame, if it is not so large
// that it would not stay in the cache until its turn.
template <typename Logit>
constexpr int64_t kPageAhead = 4096 / sizeof(Logit);
template <typename Logit>
int64_t FrameAhead(int64_t num_classes, int64_t to_next_frame) {
  return num_classes <= 16 * kPageAhead<Logit> ? to_next_frame : kPageAhead<Logit>;
}

// Calls visit(v, block, count) for the frame in blocks, small enough to stay in the first-level
// cache between two loops over one. count is a constant for all but the last.
constexpr int kBlockVectors = 16;
template <typename Logit, typename Visit>
WARPCTC_INLINE void ForEachBlock(const Logit* frame, int64_t num_classes, const Visit& visit) {
  constexpr int64_t kBlock = kBlockVectors * kLanes<RealOf<Logit>>;
  int64_t v = 0;
  for (; v + kBlock <= num_classes; v += kBlock) {
    visit(v, frame + v, std::integral_constant<int64_t, kBlock>());
  }
  if (v < num_classes) visit(v, frame + v, num_classes - v);
}

// Σ e^(logit - max) of a few vectors of classes, max being the largest of their logits.
//
// The largest logits, whose power is 1, are counted apart: added to it, each small power of a
// confident frame would be rounded at 2^-24, and the loss of a confident row is what they say.
template <typename Real>
class PowerSum {
 public:
  explicit WARPCTC_INLINE PowerSum(Real max) : max_(Vec<Real>::Broadcast(max)) {
    ones_ = others_ = Vec<Real>::Broadcast(0);
  }

  // power: e^(logit - max).
  WARPCTC_INLINE void Add(Vec<Real> logit, Vec<Real> power) {
    const Vec<Real> zero = Vec<Real>::Broadcast(0);
    ones_ = ones_ + SelectEqual(logit, max_, Vec<Real>::Broadcast(1), zero);
    others_ = others_ + SelectEqual(logit, max_, zero, power);
  }

  WARPCTC_INLINE double Total() const {
    return static_cast<double>(HorizontalSum(ones_)) + HorizontalSum(others_);
  }

 private:
  Vec<Real> max_;
  Vec<Real> ones_;
  Vec<Real> others_;
};

// The largest logit of a block, NaN left out.
template <typename Logit, typename Count>
WARPCTC_INLINE RealOf<Logit> BlockMax(const Logit* block, Count count, int64_t ahead) {
  using Real = RealOf<Logit>;
  Vec<Real> max = Vec<Real>::Broadcast(-std::numeric_limits<Real>::infinity());
  StreamVectors(block, count, ahead,
                [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA { max = Max(x, max); });
  return HorizontalMax(max);
}

// Gives *max, the largest logit of a frame with NaN left out, and *sum = Σ e^(logit - max), NaN if
// a logit is NaN or +inf, or all are -inf.
//
// In one pass over memory: a block is summed up relative to the largest logit so far, and what was
// summed before is scaled when a larger one comes. That happens log(blocks) times, on average.
template <typename Logit>
WARPCTC_INLINE void NormalizeFrame(const Logit* frame, int64_t num_classes, int64_t ahead,
                                   RealOf<Logit>* max, double* sum) {
  using Real = RealOf<Logit>;
  Real top = -std::numeric_limits<Real>::infinity();
  double total = 0;
  ForEachBlock(
      frame, num_classes, [&](int64_t, const Logit* block, auto count) WARPCTC_INLINE_LAMBDA {
        const Real block_max = BlockMax(block, count, ahead);
        if (block_max >= top && block_max > -std::numeric_limits<Real>::infinity()) {
          total *= std::exp(static_cast<double>(top) - static_cast<double>(block_max));
          top = block_max;
          PowerSum<Real> powers(top);
          ForEachVector(block, count, [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA {
            powers.Add(x, ExpOfNonPositive(x - Vec<Real>::Broadcast(top)));
          });
          total += powers.Total();
          return;
        }
        // No term here is as large as 1: float will do. While all were -inf, e^x serves.
        const bool none = top == -std::numeric_limits<Real>::infinity();
        const Vec<Real> reference = Vec<Real>::Broadcast(none ? Real(0) : top);
        Vec<Real> powers = Vec<Real>::Broadcast(0);
        ForEachVector(block, count, [&](int64_t, Vec<Real> x, int) WARPCTC_INLINE_LAMBDA {
          powers = powers + ExpOfNonPositive(x - reference);
        });
        total += HorizontalSum(powers);
      });
  *max = top;
  *sum = top - top == 0 ? total : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SOFTMAX_SIMD_H_
