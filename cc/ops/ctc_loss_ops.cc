// The ops of the CTC loss: types, shapes and documentation.

#include "absl/status/status.h"
#include "cc/kernels/lattice.h"
#include "cc/ops/shape_functions.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace warpctc {
namespace {

using ::tensorflow::DataType;

// What the loss and its gradient agree on.
struct LossShape {
  SequenceShape logits;
  DimensionHandle batch;
  ShapeHandle lattice;
};

// [saved rows, row size], as far as B, T and the label width are static.
template <typename Real>
absl::Status LatticeShape(InferenceContext* c, const SequenceShape& logits, DimensionHandle batch,
                          DimensionHandle label_width, ShapeHandle* lattice) {
  DimensionHandle rows = c->UnknownDim();
  if (!c->ValueKnown(label_width)) {
    *lattice = c->Matrix(rows, c->UnknownDim());
    return absl::OkStatus();
  }
  const int64_t width = c->Value(label_width);
  if (c->ValueKnown(logits.length)) {
    const int64_t rows_of_one = SavedRows(c->Value(logits.length), CheckpointInterval<Real>(width));
    TF_RETURN_IF_ERROR(c->Multiply(batch, rows_of_one, &rows));
  }
  *lattice = c->Matrix(rows, LatticeRowSize<Real>(width));
  return absl::OkStatus();
}

absl::Status LossShapeOf(InferenceContext* c, int first_input, LossShape* shape) {
  const Input logits{first_input, "logits"};
  const Input labels{first_input + 1, "labels"};
  const Input label_rows{first_input + 2, "label_length"};
  const Input logit_rows{first_input + 3, "logit_length"};
  TF_RETURN_IF_ERROR(CheckRealType(c));
  DimensionHandle num_classes;
  TF_RETURN_IF_ERROR(LogitsShapeOf(c, logits, logit_rows, &shape->logits, &num_classes));
  Layout labels_layout;
  TF_RETURN_IF_ERROR(GetLayout(c, "labels_layout", &labels_layout));
  SequenceShape label_shape;
  TF_RETURN_IF_ERROR(SequenceShapeOf(c, labels_layout, labels, label_rows, 0, &label_shape));
  TF_RETURN_IF_ERROR(
      MergeBatches(c, shape->logits.batch, logits, label_shape.batch, labels, &shape->batch));
  DataType real;
  TF_RETURN_IF_ERROR(c->GetAttr("Treal", &real));
  return real == tensorflow::DT_DOUBLE ? LatticeShape<double>(c, shape->logits, shape->batch,
                                                              label_shape.length, &shape->lattice)
                                       : LatticeShape<float>(c, shape->logits, shape->batch,
                                                             label_shape.length, &shape->lattice);
}

absl::Status CtcLossShape(InferenceContext* c) {
  LossShape shape;
  TF_RETURN_IF_ERROR(LossShapeOf(c, 0, &shape));
  c->set_output(0, c->Vector(shape.batch));
  c->set_output(1, c->Matrix(shape.logits.frames, 2));
  c->set_output(2, shape.lattice);
  c->set_output(3, c->Matrix(shape.batch, 2));
  return absl::OkStatus();
}

absl::Status CtcLossGradShape(InferenceContext* c) {
  LossShape shape;
  TF_RETURN_IF_ERROR(LossShapeOf(c, 1, &shape));
  ShapeHandle upstream;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &upstream));
  TF_RETURN_IF_ERROR(c->Merge(upstream, c->Vector(shape.batch), &upstream));
  c->set_output(0, shape.logits.shape);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("WarpCtc>CtcLoss")
    .Input("logits: T")
    .Input("labels: Tlabels")
    .Input("label_length: Trows")
    .Input("logit_length: Trows")
    .Output("loss: Treal")
    .Output("normalizers: Treal")
    .Output("lattice: Treal")
    .Output("likelihood: Treal")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("Tlabels: {int32, int64}")
    .Attr("Trows: {int32, int64}")
    .Attr("Treal: {float, double}")
    .Attr(kLogitsLayoutAttr)
    .Attr(kLabelsLayoutAttr)
    .Attr("blank_index: int = 0")
    .Attr("on_infeasible: {'inf', 'zero', 'raise'} = 'inf'")
    .SetShapeFn(CtcLossShape)
    .Doc(R"doc(
The CTC loss of each row, and what its gradient needs.

Letters in shapes are batch B, time T, classes with the blank V, label width U.

logits: Unnormalised log-probabilities: [T, B, V], [B, T, V], or packed [frames, V].
labels: Ids in [0, V), not the blank: [B, U], or packed [N].
label_length: Lengths [B] within U, or row splits [B + 1] of packed labels.
logit_length: Lengths [B] within T, or row splits [B + 1] of packed logits.
loss: [B] -log of the probability of the label. Treal: double for double logits, else float.
normalizers: [frames, 2] of each live frame, the largest logit and the sum of e^(logit - largest).
lattice: [saved rows, row size] checkpoints of alpha (first half of a row's frames) and of beta.
likelihood: [B, 2] of each row, mantissa and exponent of the label's unnormalised likelihood.
blank_index: The class of the blank; negative counts from V.
on_infeasible: What a row without any alignment gives: a loss of +inf, of 0, or an error. Its
  gradient is 0.
)doc");

REGISTER_OP("WarpCtc>CtcLossGrad")
    .Input("upstream: Treal")
    .Input("logits: T")
    .Input("labels: Tlabels")
    .Input("label_length: Trows")
    .Input("logit_length: Trows")
    .Input("normalizers: Treal")
    .Input("lattice: Treal")
    .Input("likelihood: Treal")
    .Output("gradient: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("Tlabels: {int32, int64}")
    .Attr("Trows: {int32, int64}")
    .Attr("Treal: {float, double}")
    .Attr(kLogitsLayoutAttr)
    .Attr(kLabelsLayoutAttr)
    .Attr("blank_index: int = 0")
    .SetShapeFn(CtcLossGradShape)
    .Doc(R"doc(
The gradient of an objective with respect to the logits, given that with respect to the losses.

upstream: [B] gradient with respect to each row's loss.
logits: As CtcLoss had it.
labels: As CtcLoss had it.
label_length: As CtcLoss had it.
logit_length: As CtcLoss had it.
normalizers: From CtcLoss.
lattice: From CtcLoss.
likelihood: From CtcLoss.
gradient: Shaped like the logits; zero in frames past a row's length.
)doc");

}  // namespace warpctc
