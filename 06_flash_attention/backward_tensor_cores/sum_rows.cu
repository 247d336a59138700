// What comes before the kernel of steps 4 to 7: what belongs to the queries, and turns and tickets
// at 0.
#include "backward/backward_parts.cuh"
#include "backward_tensor_cores/sums_in_turn.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

constexpr int THREADS = 256;
constexpr int LANES = 8;  // of a row

/// Eight lanes have a row, 16 bytes of it at a time. Rows that a tile has too many get +∞ and 0, so
/// that their weights are 0. A tile's first row begins its turns.
__global__ void __launch_bounds__(THREADS)
    sum_rows_kernel(const bf16* __restrict__ dout, const bf16* __restrict__ out,
                    const float* __restrict__ lse, Sums sums, int64_t heads, int64_t Tq, int HS) {
  const int size = sums.size;
  const int64_t tiles = ceil_div(Tq, size), padded = tiles * size;
  const int64_t row = (int64_t{blockIdx.x} * THREADS + threadIdx.x) / LANES;
  const int64_t head = row / padded, i = row % padded;
  const int lane = threadIdx.x % LANES;
  float sum = 0;
  if (head < heads && i < Tq) {
    const int64_t first = (head * Tq + i) * HS;
    for (int d = 8 * lane; d < HS; d += 8 * LANES) {
      const uint4 x = *reinterpret_cast<const uint4*>(&dout[first + d]);
      const uint4 y = *reinterpret_cast<const uint4*>(&out[first + d]);
      const auto *const a = reinterpret_cast<const __nv_bfloat162*>(&x),
                        *const b = reinterpret_cast<const __nv_bfloat162*>(&y);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float2 left = __bfloat1622float2(a[e]), right = __bfloat1622float2(b[e]);
        sum = fmaf(left.x, right.x, fmaf(left.y, right.y, sum));
      }
    }
  }
#pragma unroll
  for (int other = LANES / 2; other > 0; other /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, other);
  if (head >= heads || lane != 0) return;
  const int64_t tile = head * tiles + i / size;
  float* const of_queries = sums.of_queries + tile * 2 * size;
  of_queries[i % size] = i < Tq ? backward::log2_of_sum(lse[head * Tq + i]) : INFINITY;
  of_queries[size + i % size] = sum;
  if (i % size == 0)
    for (int64_t n = 0; n < sums.counts.of_queries; ++n)
      for (int part = 0; part < sums.parts; ++part)
        sums.turns[(n * heads * tiles + tile) * sums.parts + part] = 0;
  if (row == 0) *sums.next_ticket = 0;
}

}  // namespace

void sum_rows(const Attention& shape, const Tensors& at, const Sums& sums, cudaStream_t stream) {
  const int64_t rows = shape.B * shape.NH * ceil_div(shape.Tq, sums.size) * sums.size;
  sum_rows_kernel<<<grid_blocks(ceil_div(rows * LANES, THREADS)), THREADS, 0, stream>>>(
      at.dout, at.out, at.lse, sums, shape.B * shape.NH, shape.Tq, static_cast<int>(shape.HS));
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
