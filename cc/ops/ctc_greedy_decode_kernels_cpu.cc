// Greedy decoding on the CPU: checks, memory and threads; the mathematics is in
// cc/kernels/ctc_greedy_decode.h.

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "cc/kernels/ctc_greedy_decode.h"
#include "cc/ops/cpu_workers.h"
#include "cc/ops/sequence_inputs.h"
#include "cc/ops/tensor_types.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace warpctc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

template <typename T, typename Id>
class CtcGreedyDecodeCpuOp : public OpKernel {
 public:
  using Logit = typename KernelType<T>::type;
  using Real = RealOf<Logit>;

  explicit CtcGreedyDecodeCpuOp(OpKernelConstruction* context) : OpKernel(context) {
    std::string layout;
    OP_REQUIRES_OK(context, context->GetAttr("logits_layout", &layout));
    layout_ = LayoutOfName(layout);
    OP_REQUIRES_OK(context, context->GetAttr("blank_index", &blank_index_));
    OP_REQUIRES_OK(context, context->GetAttr("merge_repeated", &merge_repeated_));
    OP_REQUIRES_OK(context, context->GetAttr("padding_value", &padding_value_));
    OP_REQUIRES(context,
                padding_value_ >= std::numeric_limits<Id>::min() &&
                    padding_value_ <= std::numeric_limits<Id>::max(),
                absl::InvalidArgumentError(absl::StrCat("padding_value is ", padding_value_,
                                                        ", too large for the tokens")));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& logits = context->input(0);
    LogitsInput input;
    OP_REQUIRES_OK(context, input.Read(layout_, logits, context->input(1), blank_index_));
    const FrameBatch& frames = input.frames();
    const TensorShape per_row({frames.batch});
    const TensorShape per_frame =
        layout_ == Layout::kPacked
            ? TensorShape({frames.num_frames})
            : TensorShape({frames.batch, logits.dim_size(layout_ == Layout::kTimeMajor ? 0 : 1)});

    CtcGreedyDecodeResult<Id, Real> result{};
    result.padding = static_cast<Id>(padding_value_);
    OP_REQUIRES_OK(context, Output(context, 0, per_frame, true, &result.tokens));
    OP_REQUIRES_OK(context, Output(context, 1, per_row, true, &result.lengths));
    OP_REQUIRES_OK(context, Output(context, 2, per_row, false, &result.score));
    OP_REQUIRES_OK(context, Output(context, 3, per_frame, false, &result.start_frames));
    OP_REQUIRES_OK(context, Output(context, 4, per_frame, false, &result.end_frames));
    OP_REQUIRES_OK(context, Output(context, 5, per_frame, false, &result.log_probability));

    Tensor scratch;
    OP_REQUIRES_OK(context,
                   AllocateScratch(context, CtcGreedyDecodeScratchBytes<Logit>(frames), &scratch));
    const CtcGreedyDecodeProblem<Logit> problem{frames, Elements<T>(logits), input.blank(),
                                                merge_repeated_};
    CtcGreedyDecode(problem, result, scratch.data(), CpuWorkers(context, logits.NumElements()),
                    ActiveSimdLevel());
  }

 private:
  // What nobody reads is not computed, unless the kernel needs it: in a graph the executor knows.
  template <typename Element>
  static absl::Status Output(OpKernelContext* context, int index, const TensorShape& shape,
                             bool needed, Element** data) {
    if (!needed && !context->output_required(index)) return absl::OkStatus();
    Tensor* tensor = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(index, shape, &tensor));
    *data = tensor->flat<Element>().data();
    return absl::OkStatus();
  }

  Layout layout_;
  int64_t blank_index_;
  bool merge_repeated_;
  int64_t padding_value_;
};

#define WARPCTC_REGISTER_WITH_IDS(T, Id)                      \
  REGISTER_KERNEL_BUILDER(Name("WarpCtc>CtcGreedyDecode")     \
                              .Device(tensorflow::DEVICE_CPU) \
                              .TypeConstraint<T>("T")         \
                              .TypeConstraint<Id>("Tids"),    \
                          CtcGreedyDecodeCpuOp<T, Id>);
#define WARPCTC_REGISTER(T)             \
  WARPCTC_REGISTER_WITH_IDS(T, int32_t) \
  WARPCTC_REGISTER_WITH_IDS(T, int64_t)
WARPCTC_FOR_EACH_TENSOR_TYPE(WARPCTC_REGISTER)
#undef WARPCTC_REGISTER
#undef WARPCTC_REGISTER_WITH_IDS

}  // namespace
}  // namespace warpctc
