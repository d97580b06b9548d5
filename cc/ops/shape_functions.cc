#include "cc/ops/shape_functions.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"

namespace warpctc {
namespace {

using ::tensorflow::DataType;

absl::Status WithRank(InferenceContext* c, Input input, int rank, const char* meaning,
                      ShapeHandle* shape) {
  if (c->WithRank(c->input(input.index), rank, shape).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(input.name, " must have rank ", rank, " (",
                                                 meaning, "), but has shape ",
                                                 c->DebugString(c->input(input.index))));
}

const char* MeaningOfValues(Layout layout, int inner_rank) {
  switch (layout) {
    case Layout::kTimeMajor:
      return inner_rank == 0 ? "[T, B]" : "[T, B, V]";
    case Layout::kBatchMajor:
      return inner_rank == 0 ? "[B, width]" : "[B, T, V]";
    case Layout::kPacked:
      return inner_rank == 0 ? "packed [N]" : "packed [frames, V]";
  }
  return "";
}

}  // namespace

absl::Status GetLayout(InferenceContext* c, const char* attr, Layout* layout) {
  std::string name;
  TF_RETURN_IF_ERROR(c->GetAttr(attr, &name));
  *layout = LayoutOfName(name);
  return absl::OkStatus();
}

absl::Status MergeBatches(InferenceContext* c, DimensionHandle a, Input a_input, DimensionHandle b,
                          Input b_input, DimensionHandle* merged) {
  if (c->Merge(a, b, merged).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(a_input.name, " and ", b_input.name,
                                                 " must have the same batch, but have ",
                                                 c->Value(a), " and ", c->Value(b), " rows"));
}

absl::Status SequenceShapeOf(InferenceContext* c, Layout layout, Input values, Input rows,
                             int inner_rank, SequenceShape* result) {
  const bool packed = layout == Layout::kPacked;
  ShapeHandle shape, rows_shape;
  TF_RETURN_IF_ERROR(WithRank(c, values, (packed ? 1 : 2) + inner_rank,
                              MeaningOfValues(layout, inner_rank), &shape));
  TF_RETURN_IF_ERROR(
      WithRank(c, rows, 1, packed ? "row splits [B + 1]" : "lengths [B]", &rows_shape));
  DimensionHandle batch_of_rows = c->Dim(rows_shape, 0);
  result->shape = shape;
  if (packed) {
    if (c->ValueKnown(batch_of_rows) && c->Value(batch_of_rows) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(rows.name, " must have one element more than there are rows, but is empty"));
    }
    TF_RETURN_IF_ERROR(c->Subtract(batch_of_rows, 1, &result->batch));
    result->length = c->UnknownDim();
    result->frames = c->Dim(shape, 0);
    return absl::OkStatus();
  }
  const int batch_axis = layout == Layout::kTimeMajor ? 1 : 0;
  TF_RETURN_IF_ERROR(
      MergeBatches(c, c->Dim(shape, batch_axis), values, batch_of_rows, rows, &result->batch));
  result->length = c->Dim(shape, 1 - batch_axis);
  TF_RETURN_IF_ERROR(c->ReplaceDim(shape, batch_axis, result->batch, &result->shape));
  return c->Multiply(result->batch, result->length, &result->frames);
}

absl::Status LogitsShapeOf(InferenceContext* c, Input logits, Input rows, SequenceShape* shape,
                           DimensionHandle* num_classes) {
  Layout layout;
  TF_RETURN_IF_ERROR(GetLayout(c, "logits_layout", &layout));
  TF_RETURN_IF_ERROR(SequenceShapeOf(c, layout, logits, rows, 1, shape));
  *num_classes = c->Dim(shape->shape, -1);
  int64_t blank;
  TF_RETURN_IF_ERROR(c->GetAttr("blank_index", &blank));
  if (!c->ValueKnown(*num_classes)) return absl::OkStatus();
  const int64_t classes = c->Value(*num_classes);
  if (blank < -classes || blank >= classes) {
    return absl::InvalidArgumentError(absl::StrCat("blank_index is ", blank, ", but ", logits.name,
                                                   " have ", classes, " classes: expected ",
                                                   -classes, " <= blank_index < ", classes));
  }
  return absl::OkStatus();
}

absl::Status CheckRealType(InferenceContext* c) {
  DataType logits, real;
  TF_RETURN_IF_ERROR(c->GetAttr("T", &logits));
  TF_RETURN_IF_ERROR(c->GetAttr("Treal", &real));
  const DataType expected = logits == tensorflow::DT_DOUBLE ? logits : tensorflow::DT_FLOAT;
  if (real == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Treal must be ", tensorflow::DataTypeString(expected), " for logits of type ",
      tensorflow::DataTypeString(logits), ", but is ", tensorflow::DataTypeString(real)));
}

}  // namespace warpctc
