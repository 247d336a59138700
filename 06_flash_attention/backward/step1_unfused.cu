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
// H200            6.02 ms for B 8, NH 12, T 1024, HS 64 causal
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

}  // namespace

void unfused(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  const unsigned pairs = square_blocks(shape.B * shape.NH, shape.Tq, shape.Tk);
  const unsigned keys = square_blocks(shape.B * shape.NH_kv, shape.Tk, shape.HS);
  const unsigned queries = square_blocks(shape.B * shape.NH, shape.Tq, shape.HS);
  if (shape.HS == 0) return;
  require_workspace(workspace, workspace_bytes(shape, unfused), "unfused");
  float* const D = workspace.take<float>(shape.rows());
  float* const p = workspace.take<float>(pair_floats(shape));
  float* const ds = workspace.take<float>(pair_floats(shape));
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  if (pairs > 0) {
    pairs_kernel<<<pairs, THREADS, 0, stream>>>(shape, scale, Operands{at, D}, p, ds);
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
