// Merging repeats and dropping blanks on the CPU.

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "cc/kernels/ctc_align.h"
#include "cc/ops/cpu_workers.h"
#include "cc/ops/sequence_inputs.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace warpctc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

template <typename Id>
class CtcAlignCpuOp : public OpKernel {
 public:
  explicit CtcAlignCpuOp(OpKernelConstruction* context) : OpKernel(context) {
    std::string layout;
    OP_REQUIRES_OK(context, context->GetAttr("tokens_layout", &layout));
    layout_ = LayoutOfName(layout);
    OP_REQUIRES_OK(context, ReadId(context, "blank_index", &blank_index_));
    OP_REQUIRES_OK(context, ReadId(context, "padding_value", &padding_value_));
    OP_REQUIRES_OK(context, context->GetAttr("merge_repeated", &merge_repeated_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& tokens = context->input(0);
    OP_REQUIRES(context, tokens.dims() == (layout_ == Layout::kPacked ? 1 : 2),
                absl::InvalidArgumentError(absl::StrCat(
                    "tokens has shape ", tokens.shape().DebugString(), ": expected rank ",
                    layout_ == Layout::kPacked ? "1 (packed)" : "2 ([B, T])")));
    RowStructure rows;
    OP_REQUIRES_OK(context,
                   ReadRows(layout_, tokens, "tokens", context->input(1), "length", &rows));
    Tensor* aligned = nullptr;
    Tensor* lengths = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, tokens.shape(), &aligned));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({rows.batch}), &lengths));
    const CtcAlignProblem<Id> problem{
        tokens.flat<Id>().data(), rows.batch,   rows.first.data(), rows.length.data(),
        rows.capacity.data(),     blank_index_, padding_value_,    merge_repeated_};
    CtcAlign(problem, aligned->flat<Id>().data(), lengths->flat<Id>().data(),
             CpuWorkers(context, tokens.NumElements()));
  }

 private:
  static absl::Status ReadId(OpKernelConstruction* context, const char* attr, Id* id) {
    int64_t value;
    TF_RETURN_IF_ERROR(context->GetAttr(attr, &value));
    if (value < std::numeric_limits<Id>::min() || value > std::numeric_limits<Id>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat(attr, " is ", value, ", too large for the tokens"));
    }
    *id = static_cast<Id>(value);
    return absl::OkStatus();
  }

  Layout layout_;
  Id blank_index_;
  Id padding_value_;
  bool merge_repeated_;
};

#define WARPCTC_REGISTER(Id)                                                              \
  REGISTER_KERNEL_BUILDER(                                                                \
      Name("WarpCtc>CtcAlign").Device(tensorflow::DEVICE_CPU).TypeConstraint<Id>("Tids"), \
      CtcAlignCpuOp<Id>);
WARPCTC_REGISTER(int32_t)
WARPCTC_REGISTER(int64_t)
#undef WARPCTC_REGISTER

}  // namespace
}  // namespace warpctc
