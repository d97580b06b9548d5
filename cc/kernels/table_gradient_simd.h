// The gradient for few classes, from the same table as the emissions.
//
// To add a number to a class takes as long as to load one that has just been stored, and few
// classes come again and again: a group of frames at a time, side by side.

#ifndef TF_WARPCTC_CC_KERNELS_TABLE_GRADIENT_SIMD_H_
#define TF_WARPCTC_CC_KERNELS_TABLE_GRADIENT_SIMD_H_

#include <cstdint>

#include "cc/kernels/gradient_writer_simd.h"
#include "cc/kernels/path_weights_simd.h"
#include "cc/kernels/simd_groups.h"
#include "cc/kernels/table_emissions_simd.h"

namespace warpctc {
inline namespace WARPCTC_SIMD_NAMESPACE {

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
      LoadGroup(
          steps, i, [&](int64_t frame) { return weights_.Labels(frame) + u; }, group);
      TransposeGroups(group);
      for (int k = 0; k < kGroup; ++k) {
        group[k].Store(scratch_.groups + u * kGroup + k * kLanes<Real>);
      }
    }
    LoadGroup(
        steps, i, [&](int64_t frame) { return weights_.Blanks(frame); }, group);
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
    LoadGroup(
        steps, i, [&](int64_t frame) { return weights_.All(frame); }, group);
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

#endif  // TF_WARPCTC_CC_KERNELS_TABLE_GRADIENT_SIMD_H_
