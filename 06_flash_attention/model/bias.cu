// What follows a product: the bias, and GELU, or the sum with what was there before. A kernel each;
// part hopper of chapter 02 has them in the product's own epilogue (step epilogue).
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "model/layers.hpp"

namespace tutorial::flash_attention::model {
namespace {

constexpr int THREADS = 256;

__global__ void bias_gelu_kernel(float* __restrict__ x, const float* __restrict__ bias,
                                 int64_t count, int64_t width) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float z = x[i] + bias[i % width];
  x[i] = 0.5f * z * (1 + erff(z * 0.70710678f));
}

__global__ void add_to_kernel(float* __restrict__ x, const float* __restrict__ y,
                              const float* __restrict__ bias, int64_t count, int64_t width) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) x[i] += y[i] + bias[i % width];
}

}  // namespace

void bias_gelu(float* x, const float* bias, int64_t rows, int64_t width) {
  if (rows * width == 0) return;
  bias_gelu_kernel<<<ceil_div(rows * width, THREADS), THREADS>>>(x, bias, rows * width, width);
  CUDA_CHECK_LAUNCH();
}

void add_to(float* x, const float* y, const float* bias, int64_t rows, int64_t width) {
  if (rows * width == 0) return;
  add_to_kernel<<<ceil_div(rows * width, THREADS), THREADS>>>(x, y, bias, rows * width, width);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::model
