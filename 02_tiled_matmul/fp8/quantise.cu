// From float32 to e4m3: each group's largest magnitude, then its numbers divided by the scale.
#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {
namespace {

constexpr float LARGEST = 448;  // of e4m3
constexpr int THREADS = 128;    // SCALED, so that a block's columns are in one group

/// A matrix (R, K) in groups; the scales are (column of groups, row of groups).
struct Grouped {
  int64_t R, K;
  Groups groups;

  __device__ int64_t scale_of(int64_t row, int64_t k) const {
    return k / groups.cols * ceil_div(R, groups.rows) + row / groups.rows;
  }
  /// Calls f(row, k) for 128 columns of several rows.
  template <class F>
  __device__ void for_each(const F& f) const {
    const int64_t pieces = ceil_div(K, THREADS);
    for (int64_t piece = blockIdx.x; piece < R * pieces; piece += gridDim.x)
      f(piece / pieces, piece % pieces * THREADS + threadIdx.x);
  }
};

/// maxima[group] = the largest magnitude, as bits: those of positive floats are in order, so that
/// an integer's maximum will do, and NaN is more than any number.
__global__ void find_maxima(const float* X, Grouped matrix, unsigned* maxima) {
  __shared__ unsigned of_warps[THREADS / 32];
  matrix.for_each([&](int64_t row, int64_t k) {
    unsigned most = k < matrix.K ? __float_as_uint(fabsf(X[row * matrix.K + k])) : 0;
    for (int distance = 16; distance > 0; distance /= 2)
      most = max(most, __shfl_xor_sync(~0u, most, distance));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (const unsigned other : of_warps) most = max(most, other);
      atomicMax(maxima + matrix.scale_of(row, k), most);
    }
    __syncthreads();
  });
}

__global__ void to_scales(float* scales, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) scales[i] = scales[i] == 0 ? 1 : scales[i] / LARGEST;
}

__global__ void round_all(const float* X, Grouped matrix, const float* scales, e4m3* rounded) {
  matrix.for_each([&](int64_t row, int64_t k) {
    if (k < matrix.K)
      rounded[row * matrix.K + k] = e4m3(X[row * matrix.K + k] / scales[matrix.scale_of(row, k)]);
  });
}

}  // namespace

Groups groups_of(Scaling scaling, bool is_b, int64_t R, int64_t K) {
  const int64_t all = std::max<int64_t>(1, K);
  switch (scaling) {
    case Scaling::tensor:
      return {std::max<int64_t>(1, R), all};
    case Scaling::rows:
      return {1, all};
    default:
      return {is_b ? SCALED : 1, SCALED};
  }
}

int64_t count_of(const Groups& groups, int64_t R, int64_t K) {
  return ceil_div(R, groups.rows) * ceil_div(K, groups.cols);
}

void quantise(const float* X, int64_t R, int64_t K, const Groups& groups, e4m3* rounded,
              float* scales, cudaStream_t stream) {
  const int64_t count = count_of(groups, R, K);
  if (count == 0) return;
  const Grouped matrix{R, K, groups};
  const auto blocks = static_cast<unsigned>(
      std::min<int64_t>(R * ceil_div(K, THREADS), 64 * int64_t{multiprocessors()}));
  CUDA_CHECK(cudaMemsetAsync(scales, 0, count * sizeof(float), stream));
  find_maxima<<<blocks, THREADS, 0, stream>>>(X, matrix, reinterpret_cast<unsigned*>(scales));
  CUDA_CHECK_LAUNCH();
  to_scales<<<static_cast<unsigned>(ceil_div(count, 256)), 256, 0, stream>>>(scales, count);
  CUDA_CHECK_LAUNCH();
  round_all<<<blocks, THREADS, 0, stream>>>(X, matrix, scales, rounded);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::fp8
