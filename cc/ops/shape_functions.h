// What the shape functions of the ops have in common.

#ifndef TF_WARPCTC_CC_OPS_SHAPE_FUNCTIONS_H_
#define TF_WARPCTC_CC_OPS_SHAPE_FUNCTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "cc/ops/layout.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace warpctc {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// One of an op's inputs, with the name that messages call it by.
struct Input {
  int index;
  const char* name;
};

// The dimensions of sequences; unknown where they are not static.
struct SequenceShape {
  DimensionHandle batch;   // B
  DimensionHandle length;  // T or U; unknown when packed
  DimensionHandle frames;  // of per-frame arrays: B·T, or the packed elements
  ShapeHandle shape;       // of the values, with what `rows` adds to them
};

// `values` has `inner_rank` dimensions behind batch and time; `rows` is its structure (layout.h).
// Checks the ranks and that the batches agree.
absl::Status SequenceShapeOf(InferenceContext* c, Layout layout, Input values, Input rows,
                             int inner_rank, SequenceShape* shape);

// Likewise for logits, with the classes V, within which the attribute blank_index must lie.
absl::Status LogitsShapeOf(InferenceContext* c, Input logits, Input rows, SequenceShape* shape,
                           DimensionHandle* num_classes);

// An attribute that names a layout.
absl::Status GetLayout(InferenceContext* c, const char* attr, Layout* layout);

// The attribute Treal must be double where T is, and else float.
absl::Status CheckRealType(InferenceContext* c);

// a and b are the batches of two inputs.
absl::Status MergeBatches(InferenceContext* c, DimensionHandle a, Input a_input, DimensionHandle b,
                          Input b_input, DimensionHandle* merged);

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_OPS_SHAPE_FUNCTIONS_H_
