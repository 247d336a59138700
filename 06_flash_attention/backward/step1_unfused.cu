// Step 1: the pairs' weights p, and their gradients ds, go to global memory; then three products
// read them. That is how one writes it down, and how chapter 05 computes the forward pass.
//
// FLOP            a head: 10·Tq·Tk·HS, five products; nothing is left out if causal
// global memory   p and ds are 8·Tq·Tk bytes a head; written once, and read again for each 32
//                 columns of a head, p once and ds twice
// asked for by pairs_kernel       loads 8·B·NH·(HS·(Tq·⌈Tk/32⌉ + Tk·⌈Tq/32⌉) + Tq·Tk) bytes,
//                                 stores 8·B·NH·Tq·Tk bytes
// asked for by key_sums_kernel    loads 8·B·NH·Tq·(Tk·⌈HS/32⌉ + HS·⌈Tk/32⌉) bytes,
//                                 stores 8·B·NH_kv·Tk·HS bytes, in its two launches
// asked for by query_sums_kernel  loads 4·B·NH·Tk·(Tq·⌈HS/32⌉ + HS·⌈Tq/32⌉) bytes,
//                                 stores 4·B·NH·Tq·HS bytes
// shared memory   16,896 bytes; 4 reads of 4 bytes serve 8 FLOP
// block           256 threads for a tile of 32×32
// H200            6.05 ms for B 8, NH 12, T 1024, HS 64 causal
#include "backward/backward_parts.cuh"
#include "backward/small_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// p and ds of a tile of pairs, (Tq, Tk) a head.
__global__ void __launch_bounds__(THREADS)
    pairs_kernel(Attention shape, float scale, Operands at, float* __restrict__ p,
                 float* __restrict__ ds) {
  __shared__ float Q[SIZE * (SIZE + 1)], dO[SIZE * (SIZE + 1)];  // (32 queries, 32 columns)
  __shared__ float K[SIZE * (SIZE + 1)], V[SIZE * (SIZE + 1)];   // (32 keys, 32 columns)
  const int64_t Tq = shape.Tq, Tk = shape.Tk, HS = shape.HS;
  const int64_t across = ceil_div(Tk, SIZE), down = ceil_div(Tq, SIZE);
  const int64_t head = blockIdx.x / (across * down), kv_head = head / shape.group();
  const int64_t i0 = blockIdx.x / across % down * SIZE, j0 = blockIdx.x % across * SIZE;

  float dots[2][2] = {}, dp[2][2] = {};
  for (int64_t d = 0; d < HS; d += SIZE) {
    load_square(Q, at.q + head * Tq * HS, i0, d, Tq, HS);
    load_square(dO, at.dout + head * Tq * HS, i0, d, Tq, HS);
    load_square(K, at.k + kv_head * Tk * HS, j0, d, Tk, HS);
    load_square(V, at.v + kv_head * Tk * HS, j0, d, Tk, HS);
    __syncthreads();
    add_dots(dots, Q, K, SIZE, SIZE + 1);
    add_dots(dp, dO, V, SIZE, SIZE + 1);
    __syncthreads();
  }

  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) {
      const int64_t i = i0 + threadIdx.x / SIDE + SIDE * r, j = j0 + threadIdx.x % SIDE + SIDE * c;
      if (i >= Tq || j >= Tk) continue;
      const int64_t row = head * Tq + i;
      const bool seen = j < shape.visible_keys(i);
      const float weight_ij = seen ? weight(dots[r][c], scale, log2_of_sum(at.lse[row])) : 0.0f;
      p[row * Tk + j] = weight_ij;
      ds[row * Tk + j] = weight_ij * (dp[r][c] - at.D[row]);
    }
}

/// Which heads a product reads: of the left matrix `summed` heads, one after the other, for each
/// head of the result; and of the right one a head for `sharing` of these.
struct Heads {
  int64_t summed, sharing;
};

/// sums = factor·Σ left·right, (rows, terms) by (terms, HS), over the heads. TRANSPOSED: the left
/// matrix is stored as (terms, rows).
template <bool TRANSPOSED>
__device__ void sum_products(const float* left, const float* right, float* sums, int64_t rows,
                             int64_t terms, int64_t HS, Heads heads, float factor) {
  __shared__ float left_tile[SIZE * (SIZE + 1)];   // (32 rows, 32 terms)
  __shared__ float right_tile[SIZE * (SIZE + 1)];  // (32 terms, 32 columns)
  const int64_t across = ceil_div(HS, SIZE), down = ceil_div(rows, SIZE);
  const int64_t head = blockIdx.x / (across * down);
  const int64_t row0 = blockIdx.x / across % down * SIZE, col0 = blockIdx.x % across * SIZE;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;

  float sum[2][2] = {};
  for (int64_t h = head * heads.summed; h < (head + 1) * heads.summed; ++h)
    for (int64_t x = 0; x < terms; x += SIZE) {
      const float* const matrix = left + h * rows * terms;
      if (TRANSPOSED) {
        for (int e = threadIdx.x; e < SIZE * SIZE; e += THREADS) {
          const int64_t term = x + e / SIZE, row = row0 + e % SIZE;
          const bool inside = term < terms && row < rows;
          left_tile[e % SIZE * (SIZE + 1) + e / SIZE] = inside ? matrix[term * rows + row] : 0.0f;
        }
      } else {
        load_square(left_tile, matrix, row0, x, rows, terms);
      }
      load_square(right_tile, right + h / heads.sharing * terms * HS, x, col0, terms, HS);
      __syncthreads();
      add_rows(sum, left_tile, right_tile, SIZE + 1);
      __syncthreads();
    }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const int64_t row = row0 + ty + SIDE * i, col = col0 + tx + SIDE * j;
      if (row < rows && col < HS) sums[(head * rows + row) * HS + col] = factor * sum[i][j];
    }
}

/// sums = factor·Σ leftᵀ·right over a group of query heads: dv from p and dout, dk from ds and q.
__global__ void __launch_bounds__(THREADS)
    key_sums_kernel(Attention shape, const float* __restrict__ left,
                    const float* __restrict__ right, float* __restrict__ sums, float factor) {
  const Heads heads = {.summed = shape.group(), .sharing = 1};
  sum_products<true>(left, right, sums, shape.Tk, shape.Tq, shape.HS, heads, factor);
}

/// dq = factor·ds·k.
__global__ void __launch_bounds__(THREADS)
    query_sums_kernel(Attention shape, const float* __restrict__ ds, const float* __restrict__ k,
                      float* __restrict__ dq, float factor) {
  const Heads heads = {.summed = 1, .sharing = shape.group()};
  sum_products<false>(ds, k, dq, shape.Tq, shape.Tk, shape.HS, heads, factor);
}

unsigned tiles_of(int64_t heads, int64_t rows, int64_t cols) {
  return grid_blocks(heads * ceil_div(rows, SIZE) * ceil_div(cols, SIZE));
}

}  // namespace

void unfused(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  const unsigned pairs = tiles_of(B * NH, Tq, Tk);
  const unsigned queries = tiles_of(B * NH, Tq, HS), keys = tiles_of(B * NH_kv, Tk, HS);
  if (HS == 0) return;
  require_workspace(workspace, workspace_bytes(shape, unfused), "unfused");
  float* const D = workspace.take<float>(shape.rows());
  float* const p = workspace.take<float>(pair_floats(shape));
  float* const ds = p + pair_floats(shape) / 2;
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape);
  if (pairs > 0) {
    pairs_kernel<<<pairs, THREADS, 0, stream>>>(shape, LOG2_E * factor, Operands{at, D}, p, ds);
    CUDA_CHECK_LAUNCH();
  }
  if (keys > 0) {
    key_sums_kernel<<<keys, THREADS, 0, stream>>>(shape, p, at.dout, at.dv, 1.0f);
    CUDA_CHECK_LAUNCH();
    key_sums_kernel<<<keys, THREADS, 0, stream>>>(shape, ds, at.q, at.dk, factor);
    CUDA_CHECK_LAUNCH();
  }
  if (queries > 0) {
    query_sums_kernel<<<queries, THREADS, 0, stream>>>(shape, ds, at.k, at.dq, factor);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace tutorial::flash_attention::backward
