// Words of the road, steps 1 to 10: tiles in shared memory, exp, and what lanes do that share a
// row.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/reduce.cuh"
#include "common/kernel/vector4.cuh"

namespace tutorial::flash_attention {

/// Copies `tile_rows` rows of a rows × cols matrix, from row `row0`, to shared memory, where a row
/// takes `stride` floats. What lies past the matrix's edges, up to `tile_cols`, becomes 0: a masked
/// key still meets its value as 0 · v, and that must not be 0 · NaN. A warp copies a row at a time.
template <int WARPS>
__device__ void load_tile(float* tile, int tile_rows, int tile_cols, int stride,
                          const float* matrix, int64_t row0, int64_t rows, int cols) {
  const int lane = threadIdx.x % WARP;
#pragma unroll 4
  for (int r = threadIdx.x / WARP; r < tile_rows; r += WARPS)
    for (int d = lane; d < tile_cols; d += WARP) {
      const bool inside = row0 + r < rows && d < cols;
      tile[r * stride + d] = inside ? matrix[(row0 + r) * cols + d] : 0.0f;
    }
}

/// A row's length in shared memory for head size HS: odd, so that lanes that read one column, each
/// in its own row, hit 32 different banks.
__host__ __device__ constexpr int64_t odd_stride(int64_t HS) {
  return HS | 1;
}

/// The same where a lane reads 16 bytes, so that rows must begin at multiples of them: 8 lanes,
/// each in its own of 8 neighbouring rows, hit 32 different banks. `cols` is a multiple of 32.
__host__ __device__ constexpr int padded_stride(int cols) {
  return cols + 4;
}

/// exp(x − m), where m is the maximum of what was seen and x is part of it. m = −∞ says that
/// nothing was seen yet; then x = −∞ too, and the answer is 0 rather than exp(−∞ − −∞) = NaN.
__device__ inline float exp_minus(float x, float m) {
  return expf(x - (m == -INFINITY ? 0.0f : m));
}

/// sum += a · b, of four floats each.
__device__ inline void add_dot4(float& sum, float4 a, float4 b) {
  sum += a.x * b.x;
  sum += a.y * b.y;
  sum += a.z * b.z;
  sum += a.w * b.w;
}

/// The TX lanes that share a row reduce as a warp does (common/kernel/reduce.cuh), in fewer rounds.
/// Their numbers differ in as many bits as TX has, from the bit LOWEST on.
template <int TX, int LOWEST = 1>
__device__ float row_max(float value) {
  for (int offset = TX * LOWEST / 2; offset >= LOWEST; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}
template <int TX, int LOWEST = 1>
__device__ float row_sum(float value) {
  for (int offset = TX * LOWEST / 2; offset >= LOWEST; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// The column of element c of a thread that has four side by side of each 4·TX columns.
template <int TX>
__device__ int quad_column(int tx, int c) {
  return c / 4 * 4 * TX + 4 * tx + c % 4;
}

/// Begins to copy a tile of ROWS rows and COLS columns, VEC floats at a time, by all THREADS of the
/// block; otherwise as load_tile. The copy is there after finish_fetch().
template <int ROWS, int COLS, int VEC, int THREADS>
__device__ void fetch_tile(float* tile, int stride, const float* matrix, int64_t row0, int64_t rows,
                           int cols) {
  constexpr int ACROSS = COLS / VEC;  // threads side by side
  const int d = threadIdx.x % ACROSS * VEC;
#pragma unroll
  for (int r = threadIdx.x / ACROSS; r < ROWS; r += THREADS / ACROSS)
    copy_async<VEC>(&tile[r * stride + d], matrix + (row0 + r) * cols + d,
                    row0 + r < rows && d < cols);
}

/// Now what was fetched is in shared memory for all threads, and all are done with what they read
/// before: its place may be filled again.
__device__ inline void finish_fetch() {
  __pipeline_commit();
  __pipeline_wait_prior(0);  // this thread's copies
  __syncthreads();           // and everyone else's
}

/// Whether 16 bytes can be copied at a time: all rows of all tensors begin at multiples of 16
/// bytes.
inline bool rows_begin_aligned(int64_t HS, const float* q, const float* k, const float* v,
                               const float* out) {
  return rows_are_aligned(q, HS) && rows_are_aligned(k, HS) && rows_are_aligned(v, HS) &&
         rows_are_aligned(out, HS);
}

}  // namespace tutorial::flash_attention
