// What the machine allows on logits [rows, classes]: to read them once, to copy them, and to take
// their softmax. Plain loops on all cores, compiled for this machine alone.

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { kChunk = 1 << 14 };  // elements: long enough to stream, short enough to share out

// The largest element: every byte is read, and nothing else is done.
float floor_read(const float* x, long count) {
  float largest = -INFINITY;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (long first = 0; first < count; first += kChunk) {
    const long end = first + kChunk < count ? first + kChunk : count;
    float max = -INFINITY;
#pragma omp simd reduction(max : max)
    for (long i = first; i < end; ++i) max = x[i] > max ? x[i] : max;
    largest = max > largest ? max : largest;
  }
  return largest;
}

void floor_copy(const float* from, float* to, long count) {
#pragma omp parallel for schedule(static)
  for (long first = 0; first < count; first += kChunk) {
    const long end = first + kChunk < count ? first + kChunk : count;
    memcpy(to + first, from + first, (end - first) * sizeof(float));
  }
}

// e^x for x ≤ 0 to about 1e-7: 2^(x log2 e), the fraction's power by its Taylor polynomial.
static inline float Exp(float x) {
  const float z = x > -87.0f ? x * 1.44269504f : -126.0f;
  const float whole = rintf(z);
  const float f = (z - whole) * 0.69314718f;
  const float power =
      1 + f * (1 + f * (1 / 2.f + f * (1 / 6.f + f * (1 / 24.f + f * (1 / 120.f + f / 720.f)))));
  const int32_t bits = ((int32_t)whole + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof(scale));
  return power * scale;
}

void floor_softmax(const float* from, float* to, long rows, long classes) {
#pragma omp parallel for schedule(static)
  for (long row = 0; row < rows; ++row) {
    const float* x = from + row * classes;
    float* y = to + row * classes;
    float max = -INFINITY, sum = 0;
#pragma omp simd reduction(max : max)
    for (long v = 0; v < classes; ++v) max = x[v] > max ? x[v] : max;
#pragma omp simd reduction(+ : sum)
    for (long v = 0; v < classes; ++v) sum += y[v] = Exp(x[v] - max);
#pragma omp simd
    for (long v = 0; v < classes; ++v) y[v] *= 1 / sum;
  }
}
