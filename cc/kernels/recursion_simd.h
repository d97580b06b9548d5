// One step in time of alpha and beta over a lattice row.
//
// With q(t, s) the emission of state s at frame t, e^(logit - max), and path weights instead of
// probabilities (the product of the frames' normalisers is divided out once, at the end):
//
// Alpha, Graves et al. 2006, eq. 6:
//
//   alpha(t, s) = q(t, s) · pre_alpha(t, s)
//   pre_alpha(t, blank u) = alpha(t-1, blank u) + alpha(t-1, label u-1)
//   pre_alpha(t, label u) = alpha(t-1, label u) + alpha(t-1, blank u)
//                           + [l(u) ≠ l(u-1)] · alpha(t-1, label u-1)
//
// Beta, eq. 10:
//
//   beta(t, s) = q(t, s) · pre_beta(t, s)
//   pre_beta(t, blank u) = beta(t+1, blank u) + beta(t+1, label u)
//   pre_beta(t, label u) = beta(t+1, label u) + beta(t+1, blank u+1)
//                          + [l(u+1) ≠ l(u)] · beta(t+1, label u+1)
//
// They start from a virtual row before the first frame, where blank 0 is one, and one after the
// last, where blank U is one. The weight of all paths through s at t is pre_alpha · beta =
// alpha · pre_beta: no division by q, so emissions of zero are no special case.
//
// A step has no exp, no log and no branch.

#ifndef TF_WARPCTC_CC_KERNELS_RECURSION_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_RECURSION_SIMD_H_

#include <cstdint>

#include "cc/kernels/arena.h"
#include "cc/kernels/lattice.h"
#include "cc/kernels/simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct ScaledVec {
  Vec<Real> mantissa;
  Vec<Real> exponent;

  static WARPCTC_INLINE ScaledVec Load(const Real* mantissa, const Real* exponent) {
    return {Vec<Real>::Load(mantissa), Vec<Real>::Load(exponent)};
  }
  static WARPCTC_INLINE ScaledVec Broadcast(Scaled<Real> x) {
    return {Vec<Real>::Broadcast(x.mantissa), Vec<Real>::Broadcast(x.exponent)};
  }
  WARPCTC_INLINE void Store(Real* mantissa_out, Real* exponent_out) const {
    mantissa.Store(mantissa_out);
    exponent.Store(exponent_out);
  }
};

template <typename Real>
WARPCTC_INLINE ScaledVec<Real> operator+(ScaledVec<Real> x, ScaledVec<Real> y) {
  const Vec<Real> top = Max(x.exponent, y.exponent);
  return {Align(x.mantissa, x.exponent - top) + Align(y.mantissa, y.exponent - top), top};
}
template <typename Real>
WARPCTC_INLINE ScaledVec<Real> Sum(ScaledVec<Real> x, ScaledVec<Real> y, ScaledVec<Real> z) {
  const Vec<Real> top = Max(Max(x.exponent, y.exponent), z.exponent);
  return {Align(x.mantissa, x.exponent - top) + Align(y.mantissa, y.exponent - top) +
              Align(z.mantissa, z.exponent - top),
          top};
}

// A step multiplies mantissas by at most 3 · 1.42 and at least 0.70. They may run free for that
// many steps, well within the range of the type and without loss of precision, before they are
// brought back to [1, 2).
constexpr int64_t kNormalizePeriod = 8;

template <bool kNormalize, typename Real>
WARPCTC_INLINE ScaledVec<Real> Multiply(ScaledVec<Real> x, ScaledVec<Real> y) {
  ScaledVec<Real> product{x.mantissa * y.mantissa,
                          Max(x.exponent + y.exponent, Vec<Real>::Broadcast(kZeroExponent<Real>))};
  if (kNormalize) product.mantissa = Normalize(product.mantissa, &product.exponent);
  return product;
}

// alpha · pre_beta or pre_alpha · beta: the weight of the paths through a state. Only to be
// compared with others of its frame, so neither normalised nor cut at the exponent of zero.
template <typename Real>
WARPCTC_INLINE ScaledVec<Real> PathWeight(ScaledVec<Real> x, ScaledVec<Real> y) {
  return {x.mantissa * y.mantissa, x.exponent + y.exponent};
}

// A working lattice row. Each of its arrays has a vector of zeros before index 0 and after index
// width-1, so that steps read u - 1 and u + 1 without a test.
template <typename Real>
struct LatticeRow {
  Real* blank_mantissa;
  Real* blank_exponent;
  Real* label_mantissa;
  Real* label_exponent;

  static LatticeRow Take(Arena& arena, int64_t width) {
    const auto take = [&] { return arena.Take<Real>(width + 2 * kLanes<Real>) + kLanes<Real>; };
    return {take(), take(), take(), take()};
  }

  // All zero, guards included.
  void Clear(int64_t width) const {
    for (int64_t u = -kLanes<Real>; u < width + kLanes<Real>; ++u) {
      blank_mantissa[u] = label_mantissa[u] = 0;
      blank_exponent[u] = label_exponent[u] = kZeroExponent<Real>;
    }
  }
  // The vector of states from u on.
  void ClearVector(int64_t u) const {
    const ScaledVec<Real> zero = ScaledVec<Real>::Broadcast(Scaled<Real>::Zero());
    zero.Store(blank_mantissa + u, blank_exponent + u);
    zero.Store(label_mantissa + u, label_exponent + u);
  }
  WARPCTC_INLINE ScaledVec<Real> Blank(int64_t u) const {
    return ScaledVec<Real>::Load(blank_mantissa + u, blank_exponent + u);
  }
  WARPCTC_INLINE ScaledVec<Real> Label(int64_t u) const {
    return ScaledVec<Real>::Load(label_mantissa + u, label_exponent + u);
  }
};

// A row as it is saved: its four arrays one after the other, no guards. Pointer: Real* or const
// Real*.
template <typename Pointer>
struct SavedRow {
  Pointer blank_mantissa;
  Pointer blank_exponent;
  Pointer label_mantissa;
  Pointer label_exponent;

  SavedRow(Pointer row, int64_t width)
      : blank_mantissa(row),
        blank_exponent(row + width),
        label_mantissa(row + 2 * width),
        label_exponent(row + 3 * width) {}

  template <typename Real>
  SavedRow(const LatticeRow<Real>& row)  // NOLINT: a working row is as good as a saved one
      : blank_mantissa(row.blank_mantissa),
        blank_exponent(row.blank_exponent),
        label_mantissa(row.label_mantissa),
        label_exponent(row.label_exponent) {}
};

// What the visitors of a step are called with, for every vector of states: before the emissions are
// multiplied in and after.
struct VisitNothing {
  template <typename Real>
  WARPCTC_INLINE void operator()(int64_t, ScaledVec<Real>, ScaledVec<Real>) const {}
};

// previous, current: different rows. emissions.Label(u): a vector of q(t, label u), zero past the
// row's own labels; emissions.Blank(): q(t, blank). skip_exponent: [width + 1], 0 where l(u) ≠
// l(u-1), else kZeroExponent, which makes a zero of the term it is added to. begin, end: multiples
// of the vector; states outside are left as they are.
template <bool kNormalize, typename Real, typename Emissions, typename Before, typename After>
WARPCTC_INLINE void AdvanceAlpha(const LatticeRow<Real>& previous, const LatticeRow<Real>& current,
                                 const Emissions& emissions, const Real* skip_exponent,
                                 int64_t begin, int64_t end, const Before& before,
                                 const After& after) {
  const ScaledVec<Real> blank_emission = ScaledVec<Real>::Broadcast(emissions.Blank());
  for (int64_t u = begin; u < end; u += kLanes<Real>) {
    const ScaledVec<Real> from_blank = previous.Blank(u);
    const ScaledVec<Real> from_label = previous.Label(u);
    ScaledVec<Real> from_last_label = previous.Label(u - 1);
    const ScaledVec<Real> pre_blank = from_blank + from_last_label;
    from_last_label.exponent = from_last_label.exponent + Vec<Real>::Load(skip_exponent + u);
    const ScaledVec<Real> pre_label = Sum(from_label, from_blank, from_last_label);
    before(u, pre_blank, pre_label);
    const ScaledVec<Real> label_emission = emissions.Label(u);
    const ScaledVec<Real> blank = Multiply<kNormalize>(pre_blank, blank_emission);
    const ScaledVec<Real> label = Multiply<kNormalize>(pre_label, label_emission);
    blank.Store(current.blank_mantissa + u, current.blank_exponent + u);
    label.Store(current.label_mantissa + u, current.label_exponent + u);
    after(u, blank, label);
  }
}

// Likewise. skip_exponent is the same array as alpha's: beta reads it at u + 1.
template <bool kNormalize, typename Real, typename Emissions, typename Before, typename After>
WARPCTC_INLINE void AdvanceBeta(const LatticeRow<Real>& next, const LatticeRow<Real>& current,
                                const Emissions& emissions, const Real* skip_exponent,
                                int64_t begin, int64_t end, const Before& before,
                                const After& after) {
  const ScaledVec<Real> blank_emission = ScaledVec<Real>::Broadcast(emissions.Blank());
  for (int64_t u = begin; u < end; u += kLanes<Real>) {
    const ScaledVec<Real> to_label = next.Label(u);
    ScaledVec<Real> to_next_label = next.Label(u + 1);
    to_next_label.exponent = to_next_label.exponent + Vec<Real>::Load(skip_exponent + u + 1);
    const ScaledVec<Real> pre_blank = next.Blank(u) + to_label;
    const ScaledVec<Real> pre_label = Sum(to_label, next.Blank(u + 1), to_next_label);
    before(u, pre_blank, pre_label);
    const ScaledVec<Real> label_emission = emissions.Label(u);
    const ScaledVec<Real> blank = Multiply<kNormalize>(pre_blank, blank_emission);
    const ScaledVec<Real> label = Multiply<kNormalize>(pre_label, label_emission);
    blank.Store(current.blank_mantissa + u, current.blank_exponent + u);
    label.Store(current.label_mantissa + u, current.label_exponent + u);
    after(u, blank, label);
  }
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_RECURSION_SIMD_H_
