// Which vector instructions the kernels use, and the namespace that keeps their compilations apart.
//
// Files named *_simd.cc are compiled once per level, each with its own instruction-set flags (see
// tools/bazel). A function that two of them share under one name would be merged by the linker, and
// the AVX-512 copy could then run on a machine without AVX-512. So every header with code that they
// include keeps it in `inline namespace WARPCTC_SIMD_NAMESPACE`, which is the level in those files
// and `portable` in all others.

#ifndef TF_WARPCTC_CC_KERNELS_SIMD_LEVEL_H_
#define TF_WARPCTC_CC_KERNELS_SIMD_LEVEL_H_

#if defined(WARPCTC_SIMD_LEVEL)
#define WARPCTC_SIMD_NAMESPACE WARPCTC_SIMD_LEVEL
#else
#define WARPCTC_SIMD_NAMESPACE portable
#endif

namespace warpctc {

// In rising order: a machine that has a level has all those before it. `kBaseline` is what the
// compiler may use unasked: SSE2 on x86-64, NEON on AArch64.
enum class SimdLevel { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

// The highest level of this machine.
SimdLevel HighestSimdLevel();

// The level to use: the highest, or a lower one named by the environment variable TF_WARPCTC_SIMD
// ("baseline", "avx2", "avx512"), read once. A name that is unknown or above the machine's level is
// ignored: running it would end the process.
SimdLevel ActiveSimdLevel();

const char* SimdLevelName(SimdLevel level);

}  // namespace warpctc

#endif  // TF_WARPCTC_CC_KERNELS_SIMD_LEVEL_H_
