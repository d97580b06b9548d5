// The op of greedy decoding: types, shapes and documentation.

#include "absl/status/status.h"
#include "cc/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace warpctc {
namespace {

absl::Status CtcGreedyDecodeShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(CheckRealType(c));
  SequenceShape logits;
  DimensionHandle num_classes;
  TF_RETURN_IF_ERROR(LogitsShapeOf(c, {0, "logits"}, {1, "logit_length"}, &logits, &num_classes));
  Layout layout;
  TF_RETURN_IF_ERROR(GetLayout(c, "logits_layout", &layout));
  const ShapeHandle per_frame =
      layout == Layout::kPacked ? c->Vector(logits.frames) : c->Matrix(logits.batch, logits.length);
  const ShapeHandle per_row = c->Vector(logits.batch);
  c->set_output(0, per_frame);
  c->set_output(1, per_row);
  c->set_output(2, per_row);
  c->set_output(3, per_frame);
  c->set_output(4, per_frame);
  c->set_output(5, per_frame);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("WarpCtc>CtcGreedyDecode")
    .Input("logits: T")
    .Input("logit_length: Trows")
    .Output("tokens: Tids")
    .Output("lengths: Tids")
    .Output("score: Treal")
    .Output("start_frames: Tids")
    .Output("end_frames: Tids")
    .Output("log_probability: Treal")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("Trows: {int32, int64}")
    .Attr("Tids: {int32, int64} = DT_INT64")
    .Attr("Treal: {float, double}")
    .Attr(kLogitsLayoutAttr)
    .Attr("blank_index: int = 0")
    .Attr("merge_repeated: bool = true")
    .Attr("padding_value: int = -1")
    .SetShapeFn(CtcGreedyDecodeShape)
    .Doc(R"doc(
The most probable class of each frame, repeats merged and blanks dropped.

Outputs per token have a place for every frame, which is as many tokens as there can be: [B, T], or
[frames] for packed logits, with a row's tokens at the start of its frames.

logits: [T, B, V], [B, T, V], or packed [frames, V]. Ties go to the lowest class.
logit_length: Lengths [B] within T, or row splits [B + 1] of packed logits.
tokens: Ids of the classes; padding_value behind them.
lengths: [B] number of tokens.
score: [B] minus the sum of the largest logits of the live frames.
start_frames: First frame of each token; -1 behind them.
end_frames: The frame after its last; -1 behind them.
log_probability: Sum over the token's frames of the log softmax of its class; 0 behind them.
blank_index: The class of the blank; negative counts from V.
merge_repeated: Whether a run of one class is one token.
)doc");

}  // namespace warpctc
