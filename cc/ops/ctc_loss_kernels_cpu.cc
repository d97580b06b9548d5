// The CTC loss and its gradient on the CPU: checks, memory and threads; the mathematics is in
// cc/kernels/ctc_loss.h.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/kernels/ctc_loss.h"
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

// The attributes and inputs which the loss and its gradient share.
struct LossAttributes {
  Layout logits_layout;
  Layout labels_layout;
  int64_t blank_index;

  absl::Status Read(OpKernelConstruction* context) {
    std::string name;
    TF_RETURN_IF_ERROR(context->GetAttr("logits_layout", &name));
    logits_layout = LayoutOfName(name);
    TF_RETURN_IF_ERROR(context->GetAttr("labels_layout", &name));
    labels_layout = LayoutOfName(name);
    return context->GetAttr("blank_index", &blank_index);
  }
};

template <typename Real>
struct LossInputs {
  LogitsInput logits;
  LabelsInput labels;
  std::vector<int64_t> first_saved_row;
  int64_t num_saved_rows;

  // Inputs first, first+1 … are logits, labels, label_length, logit_length.
  absl::Status Read(OpKernelContext* context, const LossAttributes& attributes, int first) {
    TF_RETURN_IF_ERROR(logits.Read(attributes.logits_layout, context->input(first),
                                   context->input(first + 3), attributes.blank_index));
    TF_RETURN_IF_ERROR(labels.Read(attributes.labels_layout, context->input(first + 1),
                                   context->input(first + 2), logits));
    first_saved_row.resize(logits.frames().batch);
    num_saved_rows = FillFirstSavedRows<Real>(logits.frames(), labels.labels().max_length,
                                              first_saved_row.data());
    return absl::OkStatus();
  }
};

template <typename T>
class CtcLossCpuOp : public OpKernel {
 public:
  using Logit = typename KernelType<T>::type;
  using Real = RealOf<Logit>;

  explicit CtcLossCpuOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context));
    OP_REQUIRES_OK(context, context->GetAttr("on_infeasible", &on_infeasible_));
  }

  void Compute(OpKernelContext* context) override {
    LossInputs<Real> inputs;
    OP_REQUIRES_OK(context, inputs.Read(context, attributes_, 0));
    const FrameBatch& frames = inputs.logits.frames();
    const LabelBatch& labels = inputs.labels.labels();
    if (on_infeasible_ == "raise") {
      OP_REQUIRES_OK(context, inputs.labels.CheckAlignments(frames));
    }
    Tensor* loss = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({frames.batch}), &loss));
    CtcLossResiduals<Real> residuals{nullptr, nullptr, nullptr};
    OP_REQUIRES_OK(context, Residual(context, 1, frames.num_frames, 2, &residuals.normalizers));
    OP_REQUIRES_OK(context, Residual(context, 2, inputs.num_saved_rows,
                                     LatticeRowSize<Real>(labels.max_length), &residuals.lattice));
    OP_REQUIRES_OK(context, Residual(context, 3, frames.batch, 2, &residuals.likelihood));

    const WorkerPool pool = CpuWorkers(context, context->input(0).NumElements());
    Tensor scratch;
    OP_REQUIRES_OK(
        context,
        AllocateScratch(context, CtcLossScratchBytes<Logit>(frames, labels, pool.num_workers),
                        &scratch));
    const CtcLossProblem<Logit> problem{frames, labels, Elements<T>(context->input(0)),
                                        inputs.first_saved_row.data(), on_infeasible_ == "zero"};
    CtcLoss(problem, loss->flat<Real>().data(), residuals, scratch.data(), pool, ActiveSimdLevel());
  }

 private:
  // A loss that nobody differentiates leaves no residuals: in a graph the executor knows.
  absl::Status Residual(OpKernelContext* context, int output, int64_t rows, int64_t columns,
                        Real** data) {
    if (!context->output_required(output)) return absl::OkStatus();
    Tensor* tensor = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(output, TensorShape({rows, columns}), &tensor));
    *data = tensor->flat<Real>().data();
    return absl::OkStatus();
  }

  LossAttributes attributes_;
  std::string on_infeasible_;
};

template <typename T>
class CtcLossGradCpuOp : public OpKernel {
 public:
  using Logit = typename KernelType<T>::type;
  using Real = RealOf<Logit>;

  explicit CtcLossGradCpuOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context));
  }

  void Compute(OpKernelContext* context) override {
    LossInputs<Real> inputs;
    OP_REQUIRES_OK(context, inputs.Read(context, attributes_, 1));
    const FrameBatch& frames = inputs.logits.frames();
    const LabelBatch& labels = inputs.labels.labels();
    const int64_t row_size = LatticeRowSize<Real>(labels.max_length);
    OP_REQUIRES_OK(context, CheckSize(context, 0, "upstream", frames.batch));
    OP_REQUIRES_OK(context, CheckSize(context, 5, "normalizers", frames.num_frames * 2));
    OP_REQUIRES_OK(context, CheckSize(context, 6, "lattice", inputs.num_saved_rows * row_size));
    OP_REQUIRES_OK(context, CheckSize(context, 7, "likelihood", frames.batch * 2));

    const Tensor& logits = context->input(1);
    Tensor* gradient = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, logits.shape(), &gradient));
    const WorkerPool pool = CpuWorkers(context, logits.NumElements());
    Tensor scratch;
    OP_REQUIRES_OK(
        context, AllocateScratch(
                     context, CtcLossGradientScratchBytes<Logit>(frames, labels, pool.num_workers),
                     &scratch));
    const CtcLossProblem<Logit> problem{frames, labels, Elements<T>(logits),
                                        inputs.first_saved_row.data(), false};
    CtcLossGradient<Logit>(problem, {Reals(context, 5), Reals(context, 6), Reals(context, 7)},
                           Reals(context, 0), MutableElements<T>(gradient), scratch.data(), pool,
                           ActiveSimdLevel());
  }

 private:
  static const Real* Reals(OpKernelContext* context, int input) {
    return context->input(input).flat<Real>().data();
  }
  static absl::Status CheckSize(OpKernelContext* context, int input, const char* name,
                                int64_t expected) {
    const int64_t received = context->input(input).NumElements();
    if (received == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " has ", received, " elements: expected ",
                                                   expected,
                                                   ", as CtcLoss gives for the other inputs"));
  }

  LossAttributes attributes_;
};

#define WARPCTC_REGISTER(T)                                                              \
  REGISTER_KERNEL_BUILDER(                                                               \
      Name("WarpCtc>CtcLoss").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"),     \
      CtcLossCpuOp<T>);                                                                  \
  REGISTER_KERNEL_BUILDER(                                                               \
      Name("WarpCtc>CtcLossGrad").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), \
      CtcLossGradCpuOp<T>);
WARPCTC_FOR_EACH_TENSOR_TYPE(WARPCTC_REGISTER)
#undef WARPCTC_REGISTER

}  // namespace
}  // namespace warpctc
