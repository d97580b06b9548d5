// What the machine allows on logits [rows, classes]: to read them once, to copy them, and to take
// their softmax. Plain loops on all cores, compiled for this machine alone.

#include <float.h>
#include <stdint.h>
#include <string.h>

enum { kChunk = 1 << 14 };  // elements: long enough to stream, short enough to share out
enum { kLanes = 16 };       // elements of the longest vector

// The largest element: every byte is read, and nothing else is done.
float floor_read(const float* x, long count) {
  float largest = -FLT_MAX;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (long first = 0; first < count; first += kChunk) {
    const long end = first + kChunk < count ? first + kChunk : count;
    float max = -FLT_MAX;
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

// e^x for x <= 0 to about 1e-7, and e^-87 below: 2^k e^r, where |r| <= ln 2 / 2, and the
// polynomial for e^r is the Cephes library's.
static inline float Exp(float x) {
  x = x > -87.0f ? x : -87.0f;
  const int32_t k = (int32_t)(x * 1.44269504f - 0.5f);  // to nearest, as x is not positive
  const float r = x - (float)k * 0.693147181f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const union {
    int32_t bits;
    float value;
  } power = {(k + 127) << 23};
  return (p * r * r + r + 1.0f) * power.value;
}

// A row of at least kLanes classes; x and y are apart. Its last kLanes are a vector of their own,
// which overlaps the others: one by one, those left over would be most of a short row's work.
static inline void SoftmaxRow(const float* x, float* y, long classes) {
  const long whole = classes / kLanes * kLanes, end = classes - kLanes;
  float max = -FLT_MAX, sum = 0, last[kLanes];
#pragma omp simd reduction(max : max)
  for (long v = 0; v < whole; ++v) max = x[v] > max ? x[v] : max;
#pragma omp simd reduction(max : max)
  for (int i = 0; i < kLanes; ++i) max = x[end + i] > max ? x[end + i] : max;
#pragma omp simd reduction(+ : sum)
  for (long v = 0; v < whole; ++v) sum += y[v] = Exp(x[v] - max);
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < kLanes; ++i) {
    last[i] = Exp(x[end + i] - max);
    sum += end + i < whole ? 0 : last[i];
  }
  const float scale = 1 / sum;
#pragma omp simd
  for (long v = 0; v < whole; ++v) y[v] *= scale;
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) y[end + i] = last[i] * scale;
}

void floor_softmax(const float* from, float* to, long rows, long classes) {
#pragma omp parallel for schedule(static)
  for (long row = 0; row < rows; ++row) {
    const float* x = from + row * classes;
    float* y = to + row * classes;
    if (classes >= kLanes) {
      SoftmaxRow(x, y, classes);
    } else {
      float filled[kLanes], softmax[kLanes];
      for (int i = 0; i < kLanes; ++i) filled[i] = i < classes ? x[i] : -FLT_MAX;
      SoftmaxRow(filled, softmax, kLanes);
      memcpy(y, softmax, classes * sizeof(float));
    }
  }
}
