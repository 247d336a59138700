// From float32 to e4m3: each head's largest magnitude, then its numbers divided by the scale.
#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

constexpr float LARGEST = 448;  // of e4m3
constexpr int THREADS = 256;

/// scales[head] = the largest magnitude, as bits: those of positive floats are in order, so that an
/// integer's maximum will do, and NaN is more than any number. A block takes a part of a head.
__global__ void find_maxima(const float* X, int64_t of_head, int64_t parts, unsigned* maxima) {
  const int64_t head = blockIdx.x / parts;
  unsigned most = 0;
  for (int64_t i = blockIdx.x % parts * THREADS + threadIdx.x; i < of_head; i += parts * THREADS)
    most = max(most, __float_as_uint(fabsf(X[head * of_head + i])));
  for (int distance = 16; distance > 0; distance /= 2)
    most = max(most, __shfl_xor_sync(~0u, most, distance));
  if (threadIdx.x % 32 == 0) atomicMax(maxima + head, most);
}

__global__ void to_scales(float* scales, int64_t heads) {
  const int64_t i = int64_t{blockIdx.x} * THREADS + threadIdx.x;
  if (i < heads) scales[i] = scales[i] == 0 ? 1 : scales[i] / LARGEST;
}

__global__ void round_all(const float* X, int64_t of_head, int64_t parts, const float* scales,
                          e4m3* rounded) {
  const int64_t head = blockIdx.x / parts;
  for (int64_t i = blockIdx.x % parts * THREADS + threadIdx.x; i < of_head; i += parts * THREADS)
    rounded[head * of_head + i] = e4m3(X[head * of_head + i] / scales[head]);
}

}  // namespace

void quantise(const float* X, int64_t heads, int64_t T, int64_t HS, e4m3* rounded, float* scales,
              cudaStream_t stream) {
  if (heads == 0) return;
  CUDA_CHECK(cudaMemsetAsync(scales, 0, heads * sizeof(float), stream));
  const int64_t of_head = T * HS;
  const int64_t enough = ceil_div(16 * int64_t{multiprocessors()}, heads);  // for all of the device
  const int64_t parts = std::clamp<int64_t>(ceil_div(of_head, THREADS), 1, enough);
  const auto blocks = static_cast<unsigned>(heads * parts);
  find_maxima<<<blocks, THREADS, 0, stream>>>(X, of_head, parts,
                                              reinterpret_cast<unsigned*>(scales));
  CUDA_CHECK_LAUNCH();
  to_scales<<<static_cast<unsigned>(ceil_div(heads, THREADS)), THREADS, 0, stream>>>(scales, heads);
  CUDA_CHECK_LAUNCH();
  round_all<<<blocks, THREADS, 0, stream>>>(X, of_head, parts, scales, rounded);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::fp8
