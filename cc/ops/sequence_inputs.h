// From the input tensors of an op to the kernels' view of them, with every value checked.
//
// Nothing a kernel reads has escaped these checks: it indexes logits and scratch by labels and
// lengths. All messages name the row, the value and the bound.

#ifndef TF_WARPCTC_CC_OPS_SEQUENCE_INPUTS_H_
#define TF_WARPCTC_CC_OPS_SEQUENCE_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/kernels/sequences.h"
#include "cc/ops/layout.h"
#include "tensorflow/core/framework/tensor.h"

namespace warpctc {

// The rows of a batch of sequences, in elements of the values tensor (frames or ids).
struct RowStructure {
  int64_t batch = 0;
  int64_t num_elements = 0;       // Σ capacity
  int64_t max_length = 0;         // T or U when padded, else the longest row
  std::vector<int64_t> first;     // [B] index of the row's first element, batch-major
  std::vector<int64_t> length;    // [B]
  std::vector<int64_t> capacity;  // [B]
};

// Reads and checks lengths or row splits (int32 or int64). `values` and `rows` are what messages
// call the two inputs.
absl::Status ReadRows(Layout layout, const tensorflow::Tensor& values_tensor,
                      const std::string& values, const tensorflow::Tensor& rows_tensor,
                      const std::string& rows, RowStructure* structure);

// A batch of logits. The view points into `this`.
class LogitsInput {
 public:
  absl::Status Read(Layout layout, const tensorflow::Tensor& logits, const tensorflow::Tensor& rows,
                    int64_t blank_attr);

  const FrameBatch& frames() const { return frames_; }
  int32_t blank() const { return blank_; }

 private:
  RowStructure rows_;
  std::vector<int64_t> base_;
  FrameBatch frames_{};
  int32_t blank_ = 0;
};

// A batch of labels (int32 or int64), checked against the classes of the logits. The view points
// into `this`.
class LabelsInput {
 public:
  absl::Status Read(Layout layout, const tensorflow::Tensor& labels, const tensorflow::Tensor& rows,
                    const LogitsInput& logits);

  const LabelBatch& labels() const { return labels_; }

  // An error that names the first row whose label no alignment to its frames has.
  absl::Status CheckAlignments(const FrameBatch& frames) const;

 private:
  template <typename Id>
  absl::Status ReadIds(const Id* ids, Layout layout, const LogitsInput& logits);

  RowStructure rows_;
  std::vector<int32_t> ids_;
  LabelBatch labels_{};
};

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_OPS_SEQUENCE_INPUTS_H_
