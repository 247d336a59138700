// The sums of steps 4 to 7 in the workspace, and what comes after the kernel of steps 5 to 7.
#include <algorithm>
#include <string>

#include "backward_tensor_cores/launch.hpp"
#include "backward_tensor_cores/sums_in_turn.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/mma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "hopper/launch.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// Adds what a lane has of a part: of 64×64 sums of wgmma lane 4·g + t of warp w has 32.
__device__ __forceinline__ void add_part(float (&sum)[PART / WARPGROUP], const float* part) {
  const float4* const from = reinterpret_cast<const float4*>(part) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < PART / WARPGROUP; i += 4) {
    const float4 more = from[i / 4 * WARPGROUP];
    sum[i] += more.x, sum[i + 1] += more.y, sum[i + 2] += more.z, sum[i + 3] += more.w;
  }
}

/// Stores such sums, times `factor` and rounded, from `column` on in rows of HS numbers, of which
/// `rows_there` are in the tensor.
__device__ __forceinline__ void store_part(bf16* to, float (&sum)[PART / WARPGROUP], float factor,
                                           int64_t rows_there, int column, int HS) {
  constexpr int CHUNK = 8;
  __shared__ __align__(1024) bf16 rows[hopper::ROWS * hopper::COLUMNS];
#pragma unroll
  for (float& number : sum) number *= factor;
  hopper::put_rows(rows, 0, sum);
  __syncthreads();
#pragma unroll
  for (int x = threadIdx.x; x < hopper::ROWS * CHUNK; x += WARPGROUP) {
    const int row = x / CHUNK, chunk = x % CHUNK;
    if (row < rows_there && column + CHUNK * chunk < HS)
      *reinterpret_cast<uint4*>(&to[int64_t{row} * HS + column + CHUNK * chunk]) =
          *reinterpret_cast<const uint4*>(&rows[row * 64 + (chunk ^ row % 8) * CHUNK]);
  }
}

/// A block has a part of dq, or behind them a part of dk or dv, and adds its sums always in the
/// same order.
template <int D>
__global__ void __launch_bounds__(WARPGROUP)
    store_sums_kernel(Attention shape, Sums sums, Tensors at, float factor) {
  constexpr int SIZE = queries_of_tile(D), PARTS = 2 * D / 64;
  const int64_t Tq = shape.Tq;
  const unsigned of_a_head = static_cast<unsigned>(ceil_div(Tq, SIZE));
  const unsigned of_dq = 2 * static_cast<unsigned>(shape.B * shape.NH) * of_a_head;  // parts
  const int HS = static_cast<int>(shape.HS);
  float sum[PART / WARPGROUP] = {};
  if (blockIdx.x < of_dq) {
    const unsigned head = blockIdx.x / 2 / of_a_head, half = blockIdx.x % 2 * 64;
    const int64_t begin = int64_t{blockIdx.x / 2 % of_a_head} * SIZE;
    const int64_t end = begin + SIZE < Tq ? begin + SIZE : Tq;
    // Only sums that a block of keys has begun, which its queries see.
    const int64_t blocks = ceil_div(shape.visible_keys(end - 1), KEYS);
    for (int64_t n = 0; n < sums.counts.of_queries && n < blocks; ++n)
      add_part(sum, sums.dq + (n * of_dq + blockIdx.x) * PART);
    const int64_t i0 = begin + (SIZE == 128 ? half : 0);
    store_part(at.dq + (head * Tq + i0) * HS, sum, factor, Tq - i0, SIZE == 128 ? 0 : half, HS);
  } else {
    const unsigned number = blockIdx.x - of_dq, rows = number / PARTS, part = number % PARTS;
    const unsigned of_a_kv_head = static_cast<unsigned>(ceil_div(shape.Tk, KEYS)) * (KEYS / 64);
    const unsigned kv_head = rows / of_a_kv_head;
    const int64_t j0 = int64_t{rows % of_a_kv_head} * 64;
    if (j0 >= shape.Tk) return;
    for (int64_t n = 0; n < sums.counts.of_keys; ++n)
      add_part(sum, sums.of_keys + ((rows * sums.counts.of_keys + n) * PARTS + part) * PART);
    const bool is_dk = part < PARTS / 2;
    store_part((is_dk ? at.dk : at.dv) + (kv_head * shape.Tk + j0) * HS, sum, is_dk ? factor : 1.0f,
               shape.Tk - j0, part % (PARTS / 2) * 64, HS);
  }
}

}  // namespace

void require_hopper(const Attention& shape, const char* step, const Tensors& at) {
  require_supported(shape, step, at);
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 9)
    throw Error(std::string(step) +
                " needs a GPU of compute capability 9.0, for wgmma and TMA; take --kernel "
                "any_shape.");
  hopper::require_supported(shape, step, 128, at.q, at.k, at.v, at.dout);
}

Sums take_sums(const Attention& shape, const char* step, Workspace workspace, int64_t size,
               int parts, const SumCounts& counts) {
  require_workspace(workspace, sums_bytes(shape, counts), step);
  const int64_t tiles = shape.B * shape.NH * ceil_div(shape.Tq, size);
  if (tiles == 0) return {};
  return {.counts = counts,
          .size = static_cast<int>(size),
          .parts = parts,
          .of_queries = workspace.take<float>(tiles * 2 * size),
          .dq = workspace.take<float>(counts.of_queries * tiles * size * padded_head(shape)),
          .turns = workspace.take<unsigned>(counts.of_queries * tiles * parts),
          .next_ticket = workspace.take<unsigned long long>(1),
          .of_keys = static_cast<float*>(workspace.memory)};
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

hopper::Schedule schedule_of_keys(const Attention& shape, const SumCounts& counts,
                                  int64_t sum_bytes) {
  const int64_t heads = shape.B * shape.NH_kv * counts.of_keys;
  const int64_t group = std::max<int64_t>(ceil_div(shape.group(), counts.of_keys), 1);
  const int64_t bytes = group * shape.Tq * padded_head(shape) * int64_t{sizeof(float)};
  const int64_t together = std::max(sum_bytes / std::max<int64_t>(bytes, 1), LEAST_HEADS);
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

void store_sums(const Attention& shape, const Tensors& at, const Sums& sums, float factor,
                cudaStream_t stream) {
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    const int64_t rows = shape.B * shape.NH_kv * ceil_div(shape.Tk, KEYS) * (KEYS / 64);
    const int64_t of_keys = sums.counts.of_keys > 1 ? rows * 2 * D / 64 : 0;
    const unsigned blocks = grid_blocks(2 * query_tiles(shape) + of_keys);
    store_sums_kernel<D><<<blocks, WARPGROUP, 0, stream>>>(shape, sums, at, factor);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
