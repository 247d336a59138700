// What the steps from 14 on make unnecessary: a copy of a tensor in another layout. 16 bytes a
// thread, read and written once.
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/in_layout.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

constexpr int THREADS = 256, NUMBERS = 8;  // of a thread

__global__ void permute_kernel(const bf16* __restrict__ from, Placed as, bf16* __restrict__ to,
                               Strides to_strides, int64_t count) {
  const int64_t n = int64_t{blockIdx.x} * THREADS + threadIdx.x;
  if (n >= count) return;
  const int64_t pieces = as.HS / NUMBERS, d = n % pieces * NUMBERS;
  // Heads of a token are neighbours in one layout, tokens of a head in the other: either is read or
  // written in whole rows.
  const int64_t t = n / pieces % as.T, h = n / pieces / as.T % as.heads;
  const int64_t b = n / pieces / as.T / as.heads;
  *reinterpret_cast<uint4*>(&to[to_strides.at(b, h, t) + d]) =
      *reinterpret_cast<const uint4*>(&from[as.strides.at(b, h, t) + d]);
}

}  // namespace

void permute(const bf16* from, const Placed& as, bf16* to, const Strides& to_strides,
             cudaStream_t stream) {
  const int64_t count = as.B * as.heads * as.T * as.HS / NUMBERS;
  if (count == 0) return;
  permute_kernel<<<grid_blocks(ceil_div(count, THREADS)), THREADS, 0, stream>>>(from, as, to,
                                                                                to_strides, count);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::tensor_cores
