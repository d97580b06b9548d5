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
// The blank's sum is part of the label's where labels may follow one another directly:
//
//   pre_alpha(t, label u) = alpha(t-1, label u) + [l(u) ≠ l(u-1) ? pre_alpha(t, blank u)
//                                                                : alpha(t-1, blank u)]
//   pre_beta(t, label u) = beta(t+1, label u) + [l(u+1) ≠ l(u) ? pre_beta(t, blank u+1)
//                                                              : beta(t+1, blank u+1)]
//
// They start from a virtual row before the first frame, where blank 0 is one, and one after the
// last, where blank U is one. The weight of all paths through s at t is pre_alpha · beta =
// alpha · pre_beta: no division by q, so emissions of zero are no special case.
//
// A step has no exp, no log and no branch. What it reads of u ± 1 it shifts in from the vector
// next to it: to load across two vectors that the step before has just stored would wait until both
// stores are done.

#ifndef TF_WARPCTC_CC_KERNELS_RECURSION_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_RECURSION_SIMD_H_

#include <cstdint>
#include <type_traits>

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
  // Field by field: of a vector that is copied into a result, GCC 12 leaves a copy on the stack.
  ScaledVec<Real> sum;
  sum.exponent = Max(x.exponent, y.exponent);
  sum.mantissa =
      Align(x.mantissa, x.exponent - sum.exponent) + Align(y.mantissa, y.exponent - sum.exponent);
  return sum;
}
// greater > 0 ? x : y in every lane.
template <typename Real>
WARPCTC_INLINE ScaledVec<Real> SelectPositive(Vec<Real> greater, ScaledVec<Real> x,
                                              ScaledVec<Real> y) {
  const Vec<Real> zero = Vec<Real>::Broadcast(0);
  return {SelectGreater(greater, zero, x.mantissa, y.mantissa),
          SelectGreater(greater, zero, x.exponent, y.exponent)};
}
template <typename Real>
WARPCTC_INLINE ScaledVec<Real> ShiftUp(ScaledVec<Real> before, ScaledVec<Real> x) {
  return {ShiftUp(before.mantissa, x.mantissa), ShiftUp(before.exponent, x.exponent)};
}
template <typename Real>
WARPCTC_INLINE ScaledVec<Real> ShiftDown(ScaledVec<Real> x, ScaledVec<Real> after) {
  return {ShiftDown(x.mantissa, after.mantissa), ShiftDown(x.exponent, after.exponent)};
}

// A step multiplies mantissas by at most 3 · 1.42 and at least 0.70, and adds no less than
// kZeroExponent to exponents. They may run free for that many steps, well within the range of the
// type and without loss of precision, before mantissas are brought back to [1, 2), and exponents to
// that of zero.
constexpr int64_t kNormalizePeriod = 8;

template <bool kNormalize, typename Real>
WARPCTC_INLINE ScaledVec<Real> Multiply(ScaledVec<Real> x, ScaledVec<Real> y) {
  ScaledVec<Real> product{x.mantissa * y.mantissa, x.exponent + y.exponent};
  if (kNormalize) {
    product.exponent = Max(product.exponent, Vec<Real>::Broadcast(kZeroExponent<Real>));
    product.mantissa = Normalize(product.mantissa, &product.exponent);
  }
  return product;
}

// alpha · pre_beta or pre_alpha · beta: the weight of the paths through a state. Only to be
// compared with others of its frame, so neither normalised nor cut at the exponent of zero.
template <typename Real>
WARPCTC_INLINE ScaledVec<Real> PathWeight(ScaledVec<Real> x, ScaledVec<Real> y) {
  return Multiply<false>(x, y);
}

// The four arrays of a lattice row. Pointer: Real* or const Real*.
template <typename Pointer>
struct RowArrays {
  using Real = std::remove_cv_t<std::remove_pointer_t<Pointer>>;

  Pointer blank_mantissa;
  Pointer blank_exponent;
  Pointer label_mantissa;
  Pointer label_exponent;

  WARPCTC_INLINE ScaledVec<Real> Blank(int64_t u) const {
    return ScaledVec<Real>::Load(blank_mantissa + u, blank_exponent + u);
  }
  WARPCTC_INLINE ScaledVec<Real> Label(int64_t u) const {
    return ScaledVec<Real>::Load(label_mantissa + u, label_exponent + u);
  }
};

// A working row. Each of its arrays has a vector of zeros before index 0 and after index width-1,
// so that steps read u - 1 and u + 1 without a test.
template <typename Real>
struct LatticeRow : RowArrays<Real*> {
  static LatticeRow Take(Arena& arena, int64_t width) {
    const auto take = [&] { return arena.Take<Real>(width + 2 * kLanes<Real>) + kLanes<Real>; };
    return {{take(), take(), take(), take()}};
  }

  // All zero, guards included.
  void Clear(int64_t width) const {
    for (int64_t u = -kLanes<Real>; u < width + kLanes<Real>; u += kLanes<Real>) ClearVector(u);
  }
  // The vector of states from u on.
  void ClearVector(int64_t u) const {
    const ScaledVec<Real> zero = ScaledVec<Real>::Broadcast(Scaled<Real>::Zero());
    zero.Store(this->blank_mantissa + u, this->blank_exponent + u);
    zero.Store(this->label_mantissa + u, this->label_exponent + u);
  }
};

// A row as it is saved: its arrays one after the other, no guards.
template <typename Pointer>
struct SavedRow : RowArrays<Pointer> {
  SavedRow(Pointer row, int64_t width)
      : RowArrays<Pointer>{row, row + width, row + 2 * width, row + 3 * width} {}

  template <typename T>
  SavedRow(const LatticeRow<T>& row)  // NOLINT: a working row is as good as a saved one
      : RowArrays<Pointer>{row.blank_mantissa, row.blank_exponent, row.label_mantissa,
                           row.label_exponent} {}
};

// What the visitor of a step is called with, for every vector of states: the sums of the incoming
// paths, before the emissions are multiplied in.
struct VisitNothing {
  template <typename Real>
  WARPCTC_INLINE void operator()(int64_t, ScaledVec<Real>, ScaledVec<Real>) const {}
};

// A step of alpha from `previous` to `current`, which may be the same row. emissions.Label(u): a
// vector of q(t, label u), zero past the row's own labels; emissions.Blank(): q(t, blank).
// may_skip: [width + a vector], 1 where l(u) ≠ l(u-1), else 0. begin, end: multiples of the vector;
// states outside are left as they are.
template <bool kNormalize, typename Real, typename Emissions, typename Visit>
WARPCTC_INLINE void AdvanceAlpha(const LatticeRow<Real>& previous, const LatticeRow<Real>& current,
                                 const Emissions& emissions, const Real* may_skip, int64_t begin,
                                 int64_t end, Visit&& visit) {
  const ScaledVec<Real> blank_emission = ScaledVec<Real>::Broadcast(emissions.Blank());
  ScaledVec<Real> labels_before = previous.Label(begin - kLanes<Real>);
  for (int64_t u = begin; u < end; u += kLanes<Real>) {
    const ScaledVec<Real> from_blank = previous.Blank(u);
    const ScaledVec<Real> from_label = previous.Label(u);
    const ScaledVec<Real> pre_blank = from_blank + ShiftUp(labels_before, from_label);
    const ScaledVec<Real> pre_label =
        from_label + SelectPositive(Vec<Real>::Load(may_skip + u), pre_blank, from_blank);
    labels_before = from_label;
    visit(u, pre_blank, pre_label);
    const ScaledVec<Real> label_emission = emissions.Label(u);
    const ScaledVec<Real> blank = Multiply<kNormalize>(pre_blank, blank_emission);
    const ScaledVec<Real> label = Multiply<kNormalize>(pre_label, label_emission);
    blank.Store(current.blank_mantissa + u, current.blank_exponent + u);
    label.Store(current.label_mantissa + u, current.label_exponent + u);
  }
}

// Likewise of beta.
template <bool kNormalize, typename Real, typename Emissions, typename Visit>
WARPCTC_INLINE void AdvanceBeta(const LatticeRow<Real>& next, const LatticeRow<Real>& current,
                                const Emissions& emissions, const Real* may_skip, int64_t begin,
                                int64_t end, Visit&& visit) {
  const ScaledVec<Real> blank_emission = ScaledVec<Real>::Broadcast(emissions.Blank());
  // What paths that leave label u - 1 may go on with at u.
  const auto onward = [&](int64_t u, ScaledVec<Real> pre_blank) WARPCTC_INLINE_LAMBDA {
    return SelectPositive(Vec<Real>::Load(may_skip + u), pre_blank, next.Blank(u));
  };
  ScaledVec<Real> onward_after = onward(end, next.Blank(end) + next.Label(end));
  for (int64_t u = end - kLanes<Real>; u >= begin; u -= kLanes<Real>) {
    const ScaledVec<Real> to_label = next.Label(u);
    const ScaledVec<Real> pre_blank = next.Blank(u) + to_label;
    const ScaledVec<Real> onward_here = onward(u, pre_blank);
    const ScaledVec<Real> pre_label = to_label + ShiftDown(onward_here, onward_after);
    onward_after = onward_here;
    visit(u, pre_blank, pre_label);
    const ScaledVec<Real> label_emission = emissions.Label(u);
    const ScaledVec<Real> blank = Multiply<kNormalize>(pre_blank, blank_emission);
    const ScaledVec<Real> label = Multiply<kNormalize>(pre_label, label_emission);
    blank.Store(current.blank_mantissa + u, current.blank_exponent + u);
    label.Store(current.label_mantissa + u, current.label_exponent + u);
  }
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_RECURSION_SIMD_H_
