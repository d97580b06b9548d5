// How sequences lie in the input tensors of the ops.
//
// A batch of sequences comes with its structure in a second tensor, the *rows*: lengths [B] when
// the sequences are padded to one length, or row splits [B+1] when they are packed one behind the
// other (the values and splits of a RaggedTensor).

#ifndef TF_WARPCTC_CC_OPS_LAYOUT_H_
#define TF_WARPCTC_CC_OPS_LAYOUT_H_

#include <string>

namespace warpctc {

enum class Layout {
  kTimeMajor,   // [T, B, …], lengths [B]
  kBatchMajor,  // [B, T, …], lengths [B]
  kPacked,      // [Σ lengths, …], row splits [B+1]
};

// The attributes that name a layout. Ids of labels are never time-major.
constexpr char kLogitsLayoutAttr[] =
    "logits_layout: {'time_major', 'batch_major', 'packed'} = 'time_major'";
constexpr char kLabelsLayoutAttr[] = "labels_layout: {'batch_major', 'packed'} = 'batch_major'";

inline Layout LayoutOfName(const std::string& name) {
  if (name == "time_major") return Layout::kTimeMajor;
  if (name == "batch_major") return Layout::kBatchMajor;
  return Layout::kPacked;  // no other value passes the attribute's check
}

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_OPS_LAYOUT_H_
