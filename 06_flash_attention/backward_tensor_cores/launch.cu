// D = rowsum(dout ∘ out), which steps 1 to 3 begin with, and what is refused. A warp has a row.
//
// asked for by row_dots_kernel  loads 4·B·NH·Tq·HS bytes, stores 4·B·NH·Tq bytes
#include "backward_tensor_cores/launch.hpp"

#include <cstdint>
#include <string>

#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "common/kernel/shared_memory.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

constexpr int WARPS = 8;
constexpr int CHUNK = 8;  // numbers of 16 bytes

__global__ void __launch_bounds__(WARPS* WARP)
    row_dots_kernel(const bf16* __restrict__ dout, const bf16* __restrict__ out,
                    float* __restrict__ D, int64_t rows, int64_t HS) {
  const int lane = threadIdx.x % WARP;
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.x / WARP;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int64_t d = lane; d < HS; d += WARP)
    sum += __bfloat162float(dout[row * HS + d]) * __bfloat162float(out[row * HS + d]);
  sum = warp_sum(sum);
  if (lane == 0) D[row] = sum;
}

}  // namespace

void require_head_size(const Attention& shape, const char* step, int64_t largest) {
  tensor_cores::require_bf16(shape, step);
  if (shape.HS > largest)
    throw Error("head size " + std::to_string(shape.HS) + " is too large for " + step +
                ", which keeps its sums in registers and takes at most " + std::to_string(largest) +
                (shape.HS <= LARGEST_HEAD_SIZE
                     ? "; take --kernel any_shape."
                     : "; take ./learn run 06/backward --kernel unfused, in fp32."));
}

bool rows_are_aligned(const Attention& shape, const Tensors& at) {
  return shape.HS % CHUNK == 0 && tensor_cores::all_aligned(at.q, at.k, at.v, at.out) &&
         tensor_cores::all_aligned(at.dout, at.dq, at.dk, at.dv);
}

bool takes_hopper(const Attention& shape, const Tensors& at) {
  return shape.HS <= 128 && rows_are_aligned(shape, at) &&
         device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 &&
         shared_memory_limit() >= HOPPER_BYTES;
}

void require_supported(const Attention& shape, const char* step, const Tensors& at) {
  require_head_size(shape, step, 128);
  if (shape.HS % CHUNK != 0)
    throw Error("head size " + std::to_string(shape.HS) +
                " is no multiple of 8, so rows of bf16 are no multiple of 16 bytes; take --kernel "
                "any_shape.");
  if (!rows_are_aligned(shape, at))
    throw Error(std::string(step) +
                " copies 16 bytes at a time, and a tensor does not begin at a multiple of 16 "
                "bytes; take --kernel any_shape.");
}

void row_dots(const Attention& shape, const Tensors& at, float* D, cudaStream_t stream) {
  const unsigned blocks = grid_blocks(ceil_div(shape.rows(), WARPS));
  if (blocks == 0) return;
  row_dots_kernel<<<blocks, WARPS * WARP, 0, stream>>>(at.dout, at.out, D, shape.rows(), shape.HS);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
