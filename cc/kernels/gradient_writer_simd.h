// From the weights of the paths through the states of a block of frames to the gradient of their
// logits: added up by class, as "occupancy", and taken off the softmax.
//
//   gradient(t, v) = upstream · (softmax(t, v) - occupancy(t, v) / Σ over classes of occupancy(t,
//   ·))
//
// The paths are divided by their weight as the frame has it, not by the row's likelihood. The two
// differ by the rounding of up to T steps: so each frame's gradient adds up to zero.

#ifndef TF_WARPCTC_CC_KERNELS_GRADIENT_WRITER_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_GRADIENT_WRITER_SIMD_H_

#include <cstdint>

#include "cc/kernels/emissions_simd.h"
#include "cc/kernels/path_weights_simd.h"
#include "cc/kernels/simd_groups.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

template <typename Real>
struct GradientWriterScratch {
  using Index = typename FloatBits<Real>::Int;
  static constexpr int64_t kTableRoom = kLargestTableVectors * kGroupSize<Real> * kLanes<Real>;

  Real* occupancy;  // gathered: [V rounded up to whole vectors]; tables: [2, kTableRoom]
  Real* groups;     // tables: [width, group] the weights of a group of frames
  Index* place;     // tables: [width] the place in a table of the label whose group it is

  static GradientWriterScratch Take(Arena& arena, const HalfRowSizes& sizes) {
    const int64_t whole = (sizes.num_classes + kLanes<Real> - 1) / kLanes<Real> * kLanes<Real>;
    GradientWriterScratch scratch;
    scratch.occupancy = arena.Take<Real>(whole > 2 * kTableRoom ? whole : 2 * kTableRoom);
    scratch.groups = arena.Take<Real>(sizes.width * kGroupSize<Real>);
    scratch.place = arena.Take<Index>(sizes.width);
    return scratch;
  }
};

// What a writer is told of its row.
template <typename Logit>
struct GradientTarget {
  using Real = RealOf<Logit>;

  const Row<Logit>& row;
  const Real* normalizers;  // [T, 2] of the row
  Real upstream;
  Logit* gradient;  // of the row, addressed as the logits are

  Logit* Frame(int64_t t) const { return gradient + t * row.stride; }
  Real SoftmaxFactor(int64_t t) const { return upstream / normalizers[2 * t + 1]; }
};

// factor · power - share · occupancy, of `count` classes.
template <typename Logit>
WARPCTC_INLINE void StoreGradient(Vec<RealOf<Logit>> power, RealOf<Logit> factor,
                                  Vec<RealOf<Logit>> occupancy, RealOf<Logit> share, int count,
                                  Logit* gradient) {
  using Real = RealOf<Logit>;
  const Vec<Real> paths = occupancy * Vec<Real>::Broadcast(-share);
  const Vec<Real> value = MultiplyAdd(power, Vec<Real>::Broadcast(factor), paths);
  if (count == kLanes<Real>) {
    StoreLogits(value, gradient);
  } else {
    StoreSomeLogits(value, gradient, count);
  }
}

template <typename Emissions>
class GradientWriter;

// Of many classes, most of them without an occupancy: a frame at a time.
template <typename Logit>
class GradientWriter<GatheredEmissions<Logit>> {
  using Real = RealOf<Logit>;

 public:
  GradientWriter(const GradientTarget<Logit>& target, const HalfRowSizes&,
                 const EmissionBlock<Real>& emissions, const PathWeights<Real>& weights,
                 const GradientWriterScratch<Real>& scratch)
      : target_(target), emissions_(emissions), weights_(weights), occupancy_(scratch.occupancy) {
    for (int64_t v = 0; v < target.row.num_classes; ++v) occupancy_[v] = 0;
  }

  template <typename Steps>
  WARPCTC_INLINE void Write(const Steps& steps) const {
    const Row<Logit>& row = target_.row;
    const int64_t ahead = FrameAhead<Logit>(row.num_classes, steps.Stride());
    for (int64_t i = 0; i < steps.count; ++i) {
      const int64_t t = steps.Frame(i);
      const ReachableRange range = steps.Range(i);
      const Real* label_weight = weights_.Labels(i);
      const int64_t end = LabelEnd(row, range);
      for (int64_t u = range.begin; u < end; ++u) occupancy_[row.label[u]] += label_weight[u];
      occupancy_[row.blank] += HorizontalSum(Vec<Real>::Load(weights_.Blanks(i)));
      const Real share = target_.upstream / HorizontalSum(Vec<Real>::Load(weights_.All(i)));
      const Real factor = target_.SoftmaxFactor(t);
      const Vec<Real> max = Vec<Real>::Broadcast(emissions_.max[i]);
      Logit* gradient = target_.Frame(t);
      StreamVectors(row.Frame(t), row.num_classes, ahead,
                    [&](int64_t v, Vec<Real> x, int count) WARPCTC_INLINE_LAMBDA {
                      StoreGradient(ExpOfNonPositive(x - max), factor,
                                    Vec<Real>::Load(occupancy_ + v), share, count, gradient + v);
                    });
      Clear(range);
    }
  }

 private:
  // By way of the fewer elements: the classes, or the labels that may have been written.
  WARPCTC_INLINE void Clear(ReachableRange range) const {
    const Row<Logit>& row = target_.row;
    const int64_t end = LabelEnd(row, range);
    if (row.num_classes <= 4 * (end - range.begin)) {
      for (int64_t v = 0; v < row.num_classes; ++v) occupancy_[v] = 0;
      return;
    }
    occupancy_[row.blank] = 0;
    for (int64_t u = range.begin; u < end; ++u) occupancy_[row.label[u]] = 0;
  }

  const GradientTarget<Logit>& target_;
  const EmissionBlock<Real>& emissions_;
  const PathWeights<Real>& weights_;
  Real* occupancy_;
};

// Of few classes. To add a number to a class takes as long as to load one that has just been
// stored, and few classes come again and again: a group of frames at a time, side by side.
template <typename Logit, int kVectors>
class GradientWriter<TableEmissions<Logit, kVectors>> {
  using Real = RealOf<Logit>;
  using Emissions = TableEmissions<Logit, kVectors>;
  static constexpr int kGroup = kGroupSize<Real>;

 public:
  GradientWriter(const GradientTarget<Logit>& target, const HalfRowSizes& sizes,
                 const EmissionBlock<Real>& emissions, const PathWeights<Real>& weights,
                 const GradientWriterScratch<Real>& scratch)
      : target_(target), emissions_(emissions), weights_(weights), scratch_(scratch) {
    for (int64_t u = 0; u < sizes.width; ++u) {
      scratch.place[GroupPlace<Real>(u)] = GroupPlace<Real>(emissions.label_class[u]);
    }
  }

  // A group's classes are added to one at a time and then read as vectors, for which a processor
  // has to wait until all is in the cache: it is read when the next group has been added up.
  template <typename Steps>
  WARPCTC_INLINE void Write(const Steps& steps) const {
    int64_t i = 0;
    for (; i < steps.count; i += kGroup) {
      AddUp(steps, i);
      if (i > 0) WriteGroup(steps, i - kGroup);
    }
    WriteGroup(steps, i - kGroup);
  }

 private:
  // Of the group of frames that starts with number i: the table that two groups take in turns.
  WARPCTC_INLINE Real* Room(int64_t i) const {
    return scratch_.occupancy + (i / kGroup % 2) * scratch_.kTableRoom;
  }
  // The rows of a group; where the block has fewer frames, the last again.
  template <typename Steps, typename RowOf>
  WARPCTC_INLINE void LoadGroup(const Steps& steps, int64_t i, const RowOf& row_of,
                                Vec<Real>* group) const {
    for (int k = 0; k < kGroup; ++k) {
      const int64_t frame = i + k < steps.count ? i + k : steps.count - 1;
      group[k] = Vec<Real>::Load(row_of(frame));
    }
  }

  template <typename Steps>
  WARPCTC_INLINE void AddUp(const Steps& steps, int64_t i) const {
    // Ranges move in one direction.
    const int64_t last = i + kGroup <= steps.count ? i + kGroup - 1 : steps.count - 1;
    const ReachableRange a = steps.Range(i), b = steps.Range(last);
    const int64_t begin = a.begin < b.begin ? a.begin : b.begin;
    const int64_t end = a.end > b.end ? a.end : b.end;
    Vec<Real> group[kGroup];
    for (int64_t u = begin; u < end; u += kLanes<Real>) {
      LoadGroup(steps, i, [&](int64_t frame) { return weights_.Labels(frame) + u; }, group);
      TransposeGroups(group);
      for (int k = 0; k < kGroup; ++k) {
        group[k].Store(scratch_.groups + u * kGroup + k * kLanes<Real>);
      }
    }
    LoadGroup(steps, i, [&](int64_t frame) { return weights_.Blanks(frame); }, group);
    const Group<Real> blanks = SumOfEach(group);
    Real* const room = Room(i);
    const auto* const place = scratch_.place;
    const Real* const groups = scratch_.groups;
    const Vec<Real> zero = Vec<Real>::Broadcast(0);
    for (int k = 0; k < kVectors * kGroup; ++k) zero.Store(room + k * kLanes<Real>);
    for (int64_t p = begin; p < end; ++p) {
      AddToGroup(LoadGroupAt(groups + p * kGroup), room + place[p] * kGroup);
    }
    AddToGroup(blanks, room + GroupPlace<Real>(target_.row.blank) * kGroup);
  }

  template <typename Steps>
  WARPCTC_INLINE void WriteGroup(const Steps& steps, int64_t i) const {
    Vec<Real> group[kGroup];
    LoadGroup(steps, i, [&](int64_t frame) { return weights_.All(frame); }, group);
    const Group<Real> shares = target_.upstream / SumOfEach(group);
    for (int k = 0; k < kVectors; ++k) {
      const int64_t v = k * kLanes<Real>;
      const int64_t rest = target_.row.num_classes - v;
      if (rest <= 0) break;
      const int count = static_cast<int>(rest < kLanes<Real> ? rest : kLanes<Real>);
      for (int j = 0; j < kGroup; ++j)
        group[j] = Vec<Real>::Load(Room(i) + (v + j * kGroups) * kGroup);
      TransposeGroups(group);
      for (int j = 0; j < kGroup && i + j < steps.count; ++j) {
        const int64_t t = steps.Frame(i + j);
        StoreGradient(Emissions::Power(emissions_, i + j, k), target_.SoftmaxFactor(t), group[j],
                      shares[j], count, target_.Frame(t) + v);
      }
    }
  }

  const GradientTarget<Logit>& target_;
  const EmissionBlock<Real>& emissions_;
  const PathWeights<Real>& weights_;
  const GradientWriterScratch<Real>& scratch_;
};

}  // namespace WARPCTC_SIMD_NAMESPACE
}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_GRADIENT_WRITER_SIMD_H_
