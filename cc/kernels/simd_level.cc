#include "cc/kernels/simd_level.h"

#include <cstdlib>
#include <cstring>

namespace warpctc {
namespace {

constexpr SimdLevel kLevels[] = {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512};

SimdLevel ChosenSimdLevel() {
  const SimdLevel highest = HighestSimdLevel();
  const char* wanted = std::getenv("TF_WARPCTC_SIMD");
  if (wanted == nullptr) return highest;
  for (SimdLevel level : kLevels) {
    if (level <= highest && std::strcmp(wanted, SimdLevelName(level)) == 0) return level;
  }
  return highest;
}

}  // namespace

SimdLevel HighestSimdLevel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return SimdLevel::kAvx512;
  if (avx2) return SimdLevel::kAvx2;
#endif
  return SimdLevel::kBaseline;
}

SimdLevel ActiveSimdLevel() {
  static const SimdLevel level = ChosenSimdLevel();
  return level;
}

const char* SimdLevelName(SimdLevel level) {
  switch (level) {
    case SimdLevel::kAvx512:
      return "avx512";
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kBaseline:
      break;
  }
  return "baseline";
}

}  // namespace warpctc
