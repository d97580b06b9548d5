// The op that merges repeats and drops blanks in rows of ids: types, shapes and documentation.

#include "absl/status/status.h"
#include "cc/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace warpctc {
namespace {

absl::Status CtcAlignShape(InferenceContext* c) {
  Layout layout;
  TF_RETURN_IF_ERROR(GetLayout(c, "tokens_layout", &layout));
  SequenceShape tokens;
  TF_RETURN_IF_ERROR(SequenceShapeOf(c, layout, {0, "tokens"}, {1, "length"}, 0, &tokens));
  c->set_output(0, tokens.shape);
  c->set_output(1, c->Vector(tokens.batch));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("WarpCtc>CtcAlign")
    .Input("tokens: Tids")
    .Input("length: Trows")
    .Output("aligned: Tids")
    .Output("lengths: Tids")
    .Attr("Tids: {int32, int64}")
    .Attr("Trows: {int32, int64}")
    .Attr("tokens_layout: {'batch_major', 'packed'} = 'batch_major'")
    .Attr("blank_index: int = 0")
    .Attr("merge_repeated: bool = true")
    .Attr("padding_value: int = 0")
    .SetShapeFn(CtcAlignShape)
    .Doc(R"doc(
Merges repeats and drops blanks in rows of ids.

tokens: One id a frame: [B, T], or packed [frames].
length: Lengths [B] within T, or row splits [B + 1] of packed tokens.
aligned: Shaped like the tokens: what is left of each row, then padding_value.
lengths: [B] how many are left.
blank_index: The id of the blank.
merge_repeated: Whether a run of one id is one token.
)doc");

}  // namespace warpctc
