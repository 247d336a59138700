// x[b][t] = token[bytes[b][t]] + position[first + t]: what a byte means, and where it stands.
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "model/layers.hpp"

namespace tutorial::flash_attention::model {
namespace {

constexpr int THREADS = 256;

__global__ void embed_kernel(const unsigned char* __restrict__ bytes,
                             const float* __restrict__ token, const float* __restrict__ position,
                             float* __restrict__ x, int64_t count, int64_t T, int64_t first,
                             int64_t width) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int64_t row = i / width, t = row % T, c = i % width;
  x[i] = token[bytes[row] * width + c] + position[(first + t) * width + c];
}

}  // namespace

void embed(const unsigned char* bytes, const float* token, const float* position, float* x,
           int64_t B, int64_t T, int64_t first, int64_t width) {
  const int64_t count = B * T * width;
  if (count == 0) return;
  embed_kernel<<<ceil_div(count, THREADS), THREADS>>>(bytes, token, position, x, count, T, first,
                                                      width);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::model
