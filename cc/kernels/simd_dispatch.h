// From one entry point to the compilation of it that fits the machine.
//
// A *_simd.cc file defines its functions in namespace warpctc::<level>; the entry point, compiled
// once without special flags, picks one of them. `WARPCTC_DISPATCH(level, Function(arguments…))`
// calls `baseline::Function`, `avx2::Function` or `avx512::Function`.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_DISPATCH_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_DISPATCH_H_

#include "cc/kernels/simd_level.h"

#if defined(__x86_64__)
#define WARPCTC_DISPATCH(level, call)     \
  switch (level) {                        \
    case ::warpctc::SimdLevel::kAvx512:   \
      return ::warpctc::avx512::call;     \
    case ::warpctc::SimdLevel::kAvx2:     \
      return ::warpctc::avx2::call;       \
    case ::warpctc::SimdLevel::kBaseline: \
      break;                              \
  }                                       \
  return ::warpctc::baseline::call
#define WARPCTC_FOR_EACH_SIMD_LEVEL(DECLARE) DECLARE(baseline) DECLARE(avx2) DECLARE(avx512)
#else
#define WARPCTC_DISPATCH(level, call) \
  (void)(level);                      \
  return ::warpctc::baseline::call
#define WARPCTC_FOR_EACH_SIMD_LEVEL(DECLARE) DECLARE(baseline)
#endif

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_DISPATCH_H_
