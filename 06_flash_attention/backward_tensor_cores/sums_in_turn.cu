// What comes before and after the kernel of steps 3 and 4.
#include <algorithm>

#include "backward/backward_parts.cuh"
#include "backward_tensor_cores/hopper_launch.hpp"
#include "backward_tensor_cores/launch.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/mma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "hopper/launch.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

constexpr int THREADS = 256;
constexpr int LANES = 8;  // of a row

int padded_head(const Attention& shape) {
  return shape.HS <= 64 ? 64 : 128;
}

/// Eight lanes have a row, 16 bytes of it at a time. Rows that a tile has too many get +∞ and 0, so
/// that their weights are 0.
__global__ void __launch_bounds__(THREADS)
    sum_rows_kernel(const bf16* __restrict__ dout, const bf16* __restrict__ out,
                    const float* __restrict__ lse, float* __restrict__ of_queries, int64_t heads,
                    int64_t Tq, int HS, int size) {
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
  float* const tile = of_queries + (head * tiles + i / size) * 2 * size;
  tile[i % size] = i < Tq ? backward::log2_of_sum(lse[head * Tq + i]) : INFINITY;
  tile[size + i % size] = sum;
}

/// A block has a part: what lane 4·g + t of warp w holds of 64×64 sums of wgmma. Where its queries
/// see no key nobody has stored any.
template <int D>
__global__ void __launch_bounds__(WARPGROUP)
    store_dq_kernel(Attention shape, const float4* __restrict__ sums, bf16* __restrict__ dq,
                    float factor) {
  constexpr int SIZE = queries_of_tile(D), CHUNK = 8;
  __shared__ __align__(1024) bf16 rows[hopper::ROWS * hopper::COLUMNS];
  const int64_t Tq = shape.Tq, tiles = ceil_div(Tq, SIZE), tile = blockIdx.x / 2;
  const int half = blockIdx.x % 2 * 64, HS = static_cast<int>(shape.HS);
  const int64_t begin = tile % tiles * SIZE, end = begin + SIZE < Tq ? begin + SIZE : Tq;
  float part[PART / WARPGROUP] = {};
  if (shape.visible_keys(end - 1) > 0) {
    const float4* const from = sums + int64_t{blockIdx.x} * (PART / 4) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < PART / WARPGROUP; i += 4) {
      const float4 sum = from[i / 4 * WARPGROUP];
      part[i] = factor * sum.x, part[i + 1] = factor * sum.y;
      part[i + 2] = factor * sum.z, part[i + 3] = factor * sum.w;
    }
  }
  hopper::put_rows(rows, 0, part);
  __syncthreads();
  const int64_t i0 = begin + (SIZE == 128 ? half : 0);
  const int column = SIZE == 128 ? 0 : half;
  bf16* const to = dq + (tile / tiles * Tq + i0) * HS + column;
#pragma unroll
  for (int x = threadIdx.x; x < hopper::ROWS * CHUNK; x += WARPGROUP) {
    const int row = x / CHUNK, chunk = x % CHUNK;
    if (i0 + row < Tq && column + CHUNK * chunk < HS)
      *reinterpret_cast<uint4*>(&to[row * HS + CHUNK * chunk]) =
          *reinterpret_cast<const uint4*>(&rows[row * 64 + (chunk ^ row % 8) * CHUNK]);
  }
}

}  // namespace

void require_hopper(const Attention& shape, const char* step, const Tensors& at) {
  require_supported(shape, step, at);
  hopper::require_supported(shape, step, 128, at.q, at.k, at.v, at.dout);
}

Sums sums_from_0(const Attention& shape, const char* step, Workspace workspace,
                 cudaStream_t stream) {
  require_workspace(workspace, sums_bytes(shape), step);
  const int64_t tiles = query_tiles(shape), size = queries_of_tile(padded_head(shape));
  if (tiles == 0) return {};
  const Sums sums = {.of_queries = workspace.take<float>(tiles * 2 * size),
                     .dq = workspace.take<float>(tiles * 2 * PART),
                     .turns = workspace.take<unsigned>(tiles * 2),
                     .next_ticket = workspace.take<unsigned long long>(1)};
  CUDA_CHECK(cudaMemsetAsync(sums.turns, 0, tiles * 2 * sizeof(unsigned), stream));
  CUDA_CHECK(cudaMemsetAsync(sums.next_ticket, 0, sizeof(unsigned long long), stream));
  return sums;
}

Maps maps_of(const Attention& shape, const Tensors& at, const Sums& sums) {
  const int size = queries_of_tile(padded_head(shape));
  const auto columns = static_cast<uint32_t>(2 * size);
  return {.q = hopper::queries_map(shape, at.q, 64),
          .k = hopper::keys_map(shape, at.k, KEYS, at.q),
          .v = hopper::keys_map(shape, at.v, KEYS, at.q),
          .dout = hopper::queries_map(shape, at.dout, 64),
          .of_queries =
              tensor_map(sums.of_queries, {columns, static_cast<uint64_t>(query_tiles(shape))},
                         {columns}, {columns, 1}, Swizzle::none)};
}

hopper::Schedule schedule_of_keys(const Attention& shape) {
  const int64_t heads = shape.B * shape.NH_kv, group = std::max<int64_t>(shape.group(), 1);
  const int64_t bytes = group * shape.Tq * padded_head(shape) * int64_t{sizeof(float)};
  const int64_t together = std::max(SUM_BYTES / std::max<int64_t>(bytes, 1), LEAST_HEADS);
  return {.heads = heads,
          .tiles = ceil_div(shape.Tk, KEYS),
          .section = std::max<int64_t>(std::min(together, heads), 1)};
}

bool is_done_without(const Attention& shape, const Tensors& at, cudaStream_t stream) {
  const int64_t queries = shape.rows() * shape.HS;
  const int64_t keys = shape.B * shape.NH_kv * shape.Tk * shape.HS;
  if (queries > 0 && keys > 0) return false;
  const auto clear = [&](bf16* gradient, int64_t count) {
    if (count > 0) CUDA_CHECK(cudaMemsetAsync(gradient, 0, count * sizeof(bf16), stream));
  };
  clear(at.dq, queries), clear(at.dk, keys), clear(at.dv, keys);
  return true;
}

void sum_rows(const Attention& shape, const Tensors& at, const Sums& sums, cudaStream_t stream) {
  const int size = queries_of_tile(padded_head(shape));
  const int64_t rows = query_tiles(shape) * size;
  sum_rows_kernel<<<grid_blocks(ceil_div(rows * LANES, THREADS)), THREADS, 0, stream>>>(
      at.dout, at.out, at.lse, sums.of_queries, shape.B * shape.NH, shape.Tq,
      static_cast<int>(shape.HS), size);
  CUDA_CHECK_LAUNCH();
}

void store_dq(const Attention& shape, const Tensors& at, const Sums& sums, float factor,
              cudaStream_t stream) {
  const unsigned blocks = grid_blocks(2 * query_tiles(shape));
  const auto* const from = reinterpret_cast<const float4*>(sums.dq);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    store_dq_kernel<D><<<blocks, WARPGROUP, 0, stream>>>(shape, from, at.dq, factor);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
