#include "cc/ops/sequence_inputs.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "cc/kernels/lattice.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace warpctc {
namespace {

using ::absl::InvalidArgumentError;
using ::absl::StrCat;
using ::tensorflow::Tensor;

template <typename Index>
absl::Status ReadLengths(int64_t width, const std::string& values, const Index* rows,
                         const std::string& rows_name, RowStructure* structure) {
  for (int64_t b = 0; b < structure->batch; ++b) {
    const int64_t length = rows[b];
    if (length < 0) {
      return InvalidArgumentError(
          StrCat(rows_name, "[", b, "] is ", length, ": expected a length of 0 or more"));
    }
    if (length > width) {
      return InvalidArgumentError(
          values == "logits"
              ? StrCat(rows_name, "[", b, "] is ", length, ", but logits has ", width, " frames")
              : StrCat(rows_name, "[", b, "] is ", length, ", but ", values, " has width ", width));
    }
    structure->first.push_back(b * width);
    structure->length.push_back(length);
    structure->capacity.push_back(width);
  }
  structure->max_length = width;
  return absl::OkStatus();
}

template <typename Index>
absl::Status ReadSplits(int64_t num_elements, const std::string& values, const Index* splits,
                        RowStructure* structure) {
  const std::string name = StrCat("row splits of ", values);
  if (splits[0] != 0) {
    return InvalidArgumentError(StrCat(name, " must start at 0, but start at ", splits[0]));
  }
  for (int64_t b = 0; b < structure->batch; ++b) {
    const int64_t first = splits[b];
    const int64_t next = splits[b + 1];
    if (next < first || next > num_elements) {  // before any difference, which could overflow
      return InvalidArgumentError(StrCat(name, " must ascend to ", num_elements, ", but element ",
                                         b + 1, " is ", next, " after ", first));
    }
    const int64_t length = next - first;
    structure->first.push_back(first);
    structure->length.push_back(length);
    structure->capacity.push_back(length);
    structure->max_length = std::max(structure->max_length, length);
  }
  if (splits[structure->batch] != num_elements) {
    return InvalidArgumentError(StrCat(name, " must end at ", num_elements,
                                       ", the number of elements, but end at ",
                                       splits[structure->batch]));
  }
  return absl::OkStatus();
}

template <typename Index>
absl::Status ReadRowsOfType(Layout layout, const Tensor& values_tensor, const std::string& values,
                            const Tensor& rows_tensor, const std::string& rows,
                            RowStructure* structure) {
  const Index* data = rows_tensor.flat<Index>().data();
  if (layout == Layout::kPacked) {
    return ReadSplits(structure->num_elements, values, data, structure);
  }
  const int64_t width = values_tensor.dim_size(layout == Layout::kTimeMajor ? 0 : 1);
  return ReadLengths(width, values, data, rows, structure);
}

}  // namespace

absl::Status ReadRows(Layout layout, const Tensor& values_tensor, const std::string& values,
                      const Tensor& rows_tensor, const std::string& rows, RowStructure* structure) {
  // Shape functions have checked this where shapes were static; here they always are.
  const int outer_rank = layout == Layout::kPacked ? 1 : 2;
  if (values_tensor.dims() < outer_rank || rows_tensor.dims() != 1) {
    return InvalidArgumentError(StrCat(
        values, " has shape ", values_tensor.shape().DebugString(), " and ", rows, " has shape ",
        rows_tensor.shape().DebugString(), ": expected rank ", outer_rank, " or more, and 1"));
  }
  const int64_t num_rows = rows_tensor.dim_size(0);
  if (layout == Layout::kPacked) {
    if (num_rows == 0) return InvalidArgumentError(StrCat("row splits of ", values, " are empty"));
    structure->batch = num_rows - 1;
    structure->num_elements = values_tensor.dim_size(0);
  } else {
    structure->batch = values_tensor.dim_size(layout == Layout::kTimeMajor ? 1 : 0);
    structure->num_elements = values_tensor.dim_size(0) * values_tensor.dim_size(1);
    if (num_rows != structure->batch) {
      return InvalidArgumentError(StrCat(rows, " has ", num_rows, " elements, but ", values,
                                         " has a batch of ", structure->batch));
    }
  }
  structure->first.reserve(structure->batch);
  structure->length.reserve(structure->batch);
  structure->capacity.reserve(structure->batch);
  if (rows_tensor.dtype() == tensorflow::DT_INT32) {
    return ReadRowsOfType<int32_t>(layout, values_tensor, values, rows_tensor, rows, structure);
  }
  return ReadRowsOfType<int64_t>(layout, values_tensor, values, rows_tensor, rows, structure);
}

absl::Status LogitsInput::Read(Layout layout, const Tensor& logits, const Tensor& rows,
                               int64_t blank_attr) {
  if (logits.dims() != (layout == Layout::kPacked ? 2 : 3)) {
    return InvalidArgumentError(StrCat(
        "logits has shape ", logits.shape().DebugString(), ": expected rank ",
        layout == Layout::kPacked ? "2 (packed [frames, V])" : "3 ([T, B, V] or [B, T, V])"));
  }
  TF_RETURN_IF_ERROR(ReadRows(layout, logits, "logits", rows, "logit_length", &rows_));
  const int64_t classes = logits.dim_size(logits.dims() - 1);
  if (blank_attr < -classes || blank_attr >= classes) {
    return InvalidArgumentError(StrCat("blank_index is ", blank_attr, ", but logits have ", classes,
                                       " classes: expected ", -classes, " <= blank_index < ",
                                       classes));
  }
  if (classes > std::numeric_limits<int32_t>::max()) {
    return InvalidArgumentError(
        StrCat("logits have ", classes, " classes: expected fewer than 2^31"));
  }
  blank_ = static_cast<int32_t>(blank_attr < 0 ? blank_attr + classes : blank_attr);
  base_.reserve(rows_.batch);
  for (int64_t b = 0; b < rows_.batch; ++b) {
    base_.push_back(layout == Layout::kTimeMajor ? b * classes : rows_.first[b] * classes);
  }
  frames_ = {rows_.batch,         classes,
             base_.data(),        layout == Layout::kTimeMajor ? rows_.batch * classes : classes,
             rows_.length.data(), rows_.capacity.data(),
             rows_.first.data(),  rows_.num_elements};
  return absl::OkStatus();
}

template <typename Id>
absl::Status LabelsInput::ReadIds(const Id* ids, Layout layout, const LogitsInput& logits) {
  const int64_t classes = logits.frames().num_classes;
  ids_.resize(rows_.num_elements);
  for (int64_t b = 0; b < rows_.batch; ++b) {
    const int64_t first = rows_.first[b];
    for (int64_t u = 0; u < rows_.length[b]; ++u) {
      const int64_t id = ids[first + u];
      if (id < 0 || id >= classes || id == logits.blank()) {
        const std::string place = layout == Layout::kPacked ? StrCat("label ", u, " of row ", b)
                                                            : StrCat("labels[", b, ", ", u, "]");
        return InvalidArgumentError(id == logits.blank()
                                        ? StrCat(place, " is ", id,
                                                 ", the blank: a label within label_length must be "
                                                 "another class (blank_index is ",
                                                 logits.blank(), ")")
                                        : StrCat(place, " is ", id, ", but logits have ", classes,
                                                 " classes: expected 0 <= label < ", classes));
      }
      ids_[first + u] = static_cast<int32_t>(id);
    }
  }
  return absl::OkStatus();
}

absl::Status LabelsInput::Read(Layout layout, const Tensor& labels, const Tensor& rows,
                               const LogitsInput& logits) {
  if (labels.dims() != (layout == Layout::kPacked ? 1 : 2)) {
    return InvalidArgumentError(StrCat("labels has shape ", labels.shape().DebugString(),
                                       ": expected rank ", layout == Layout::kPacked ? 1 : 2));
  }
  TF_RETURN_IF_ERROR(ReadRows(layout, labels, "labels", rows, "label_length", &rows_));
  if (rows_.batch != logits.frames().batch) {
    return InvalidArgumentError(StrCat("labels and logits must have the same batch, but have ",
                                       rows_.batch, " and ", logits.frames().batch, " rows"));
  }
  TF_RETURN_IF_ERROR(labels.dtype() == tensorflow::DT_INT32
                         ? ReadIds(labels.flat<int32_t>().data(), layout, logits)
                         : ReadIds(labels.flat<int64_t>().data(), layout, logits));
  labels_ = {ids_.data(), rows_.first.data(), rows_.length.data(), rows_.max_length,
             logits.blank()};
  return absl::OkStatus();
}

absl::Status LabelsInput::CheckAlignments(const FrameBatch& frames) const {
  for (int64_t b = 0; b < rows_.batch; ++b) {
    const int32_t* label = labels_.ids + labels_.base[b];
    const int64_t needed = labels_.length[b] + CountRepeats(label, labels_.length[b]);
    if (needed > frames.length[b]) {
      return InvalidArgumentError(
          StrCat("row ", b, " has no alignment: its label needs at least ", needed,
                 " frames (one for each of ", labels_.length[b],
                 " labels, one between equal neighbours), but logit_length[", b, "] is ",
                 frames.length[b]));
    }
  }
  return absl::OkStatus();
}

}  // namespace warpctc
