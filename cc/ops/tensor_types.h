// TensorFlow's element types as the kernels' types: the same bits under another name.

#ifndef TF_WARPCTC_CC_OPS_TENSOR_TYPES_H_
#define TF_WARPCTC_CC_OPS_TENSOR_TYPES_H_

#include "cc/kernels/logit_types.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace warpctc {

template <typename T>
struct KernelType {
  using type = T;
};
template <>
struct KernelType<Eigen::half> {
  using type = Half;
};
template <>
struct KernelType<Eigen::bfloat16> {
  using type = BFloat16;
};

// The elements of a tensor of type T, as the kernels take them.
template <typename T>
const typename KernelType<T>::type* Elements(const tensorflow::Tensor& tensor) {
  static_assert(sizeof(T) == sizeof(typename KernelType<T>::type), "same bits");
  return reinterpret_cast<const typename KernelType<T>::type*>(tensor.flat<T>().data());
}
template <typename T>
typename KernelType<T>::type* MutableElements(tensorflow::Tensor* tensor) {
  return reinterpret_cast<typename KernelType<T>::type*>(tensor->flat<T>().data());
}

}  // namespace warpctc

// For the macro `REGISTER(T)` of a file: the types that logits come in.
#define WARPCTC_FOR_EACH_TENSOR_TYPE(REGISTER) \
  REGISTER(Eigen::half)                        \
  REGISTER(Eigen::bfloat16)                    \
  REGISTER(float)                              \
  REGISTER(double)

#endif  // TF_WARPCTC_CC_OPS_TENSOR_TYPES_H_
