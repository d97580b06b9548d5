// The CTC lattice of one row, and how its states lie in memory.
//
// A label l of length U is read through the S = 2U+1 states  blank, l[0], blank, l[1], … l[U-1],
// blank  (Graves et al. 2006, §4.1). They are kept apart by kind: blank[u], the blank before l[u]
// (u = 0 … U), and label[u] (u = 0 … U-1). A step in time then reads neighbours at u and u ± 1 of
// contiguous arrays, with no even-odd shuffling, and the emission of all blanks is one number.
//
// Each state holds a Scaled number (scaled.h), so a lattice row is four arrays of `width` elements:
//   blank mantissas, blank exponents, label mantissas, label exponents
// where width is U+1 rounded up to a whole vector. States past the row's own U are zero.

#ifndef TF_WARPCTC_CC_KERNELS_LATTICE_H_
#define TF_WARPCTC_CC_KERNELS_LATTICE_H_

#include <cstdint>

#include "cc/kernels/simd_level.h"

namespace warpctc {

// Elements that `width` is a multiple of: 64 bytes, on every device, so that saved rows mean the
// same everywhere.
template <typename Real>
constexpr int64_t kLatticeAlignment = 64 / static_cast<int64_t>(sizeof(Real));

template <typename Real>
constexpr int64_t LatticeWidth(int64_t max_label_length) {
  return (max_label_length + kLatticeAlignment<Real>) / kLatticeAlignment<Real> *
         kLatticeAlignment<Real>;
}

// Elements of one lattice row.
template <typename Real>
constexpr int64_t LatticeRowSize(int64_t max_label_length) {
  return 4 * LatticeWidth<Real>(max_label_length);
}

constexpr int64_t kLongestCheckpointInterval = 32;

// Of the lattice rows that the loss computes, the gradient finds every so many saved, and computes
// those between again: less memory, and beyond the cache less time as well. How many steps lie
// between two saved rows: the longer the row, the more, so that what is saved of a frame stays near
// 256 bytes.
template <typename Real>
constexpr int64_t CheckpointInterval(int64_t max_label_length) {
  constexpr int64_t kBytesPerFrame = 256;
  const int64_t bytes = LatticeRowSize<Real>(max_label_length) * static_cast<int64_t>(sizeof(Real));
  int64_t interval = 1;
  while (interval < kLongestCheckpointInterval && bytes > interval * kBytesPerFrame) interval *= 2;
  return interval;
}

// Where the two halves of a row meet: the forward pass runs alpha over frames [0, middle) and beta
// over [middle, T), two tasks that share nothing; the gradient then runs beta over the first half,
// where alpha was saved, and alpha over the second.
constexpr int64_t MiddleFrame(int64_t num_frames) { return num_frames / 2; }

// Rows saved of a half: after each whole interval, and after the last step.
constexpr int64_t SavedRowsOfHalf(int64_t num_steps, int64_t interval) {
  return (num_steps + interval - 1) / interval;
}

// Rows saved of both halves; does not fall as num_frames grows.
constexpr int64_t SavedRows(int64_t num_frames, int64_t interval) {
  const int64_t middle = MiddleFrame(num_frames);
  return SavedRowsOfHalf(middle, interval) + SavedRowsOfHalf(num_frames - middle, interval);
}

inline namespace WARPCTC_SIMD_NAMESPACE {

// Neighbouring equal labels, which need a blank between them.
inline int64_t CountRepeats(const int32_t* label, int64_t label_length) {
  int64_t repeats = 0;
  for (int64_t u = 1; u < label_length; ++u) repeats += label[u] == label[u - 1];
  return repeats;
}

// Whether any alignment exists: a frame for each label and one for each blank that must stand
// between two equal labels.
inline bool HasAlignment(int64_t num_frames, const int32_t* label, int64_t label_length) {
  return num_frames >= label_length + CountRepeats(label, label_length);
}

// The half-open range of u at frame t which some path from the first to the last frame can visit,
// blanks and labels together: u labels take at least u frames, and so do the U - 1 - u labels after
// label u. (Repeats would narrow it further; not by much.)
struct ReachableRange {
  int64_t begin;
  int64_t end;
};
inline ReachableRange Reachable(int64_t t, int64_t num_frames, int64_t label_length) {
  const int64_t begin = label_length - num_frames + t;
  const int64_t last = t < label_length ? t : label_length;
  return {begin > 0 ? begin : 0, last + 1};
}

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_LATTICE_H_
