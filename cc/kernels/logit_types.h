// The four types that logits come in, and the type that each is computed in.
//
// Half and BFloat16 are bit patterns here: the kernels convert them as they load and store, and
// compute in float. The layouts equal those of Eigen::half, Eigen::bfloat16 and NumPy, so that
// pointers can be handed over as they are.

#ifndef TF_WARPCTC_CC_KERNELS_LOGIT_TYPES_H_
#define TF_WARPCTC_CC_KERNELS_LOGIT_TYPES_H_

#include <cstdint>

namespace warpctc {

struct Half {
  uint16_t bits;
};

struct BFloat16 {
  uint16_t bits;
};

// What the mathematics and the loss of a logit type are computed in: float, or double for double.
template <typename Logit>
struct RealOfLogit {
  using type = float;
};
template <>
struct RealOfLogit<double> {
  using type = double;
};
template <typename Logit>
using RealOf = typename RealOfLogit<Logit>::type;

}  // namespace warpctc

// For the macro `INSTANTIATE(Logit)` of a file: all four types.
#define WARPCTC_FOR_EACH_LOGIT_TYPE(INSTANTIATE) \
  INSTANTIATE(::warpctc::Half)                   \
  INSTANTIATE(::warpctc::BFloat16)               \
  INSTANTIATE(float)                             \
  INSTANTIATE(double)

#endif  // TF_WARPCTC_CC_KERNELS_LOGIT_TYPES_H_
