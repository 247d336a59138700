// Step 2 = step 1 without the pairs in global memory. A block keeps s keys, walks over the queries
// that see them and adds to dk and dv, in registers. A second kernel keeps s queries, walks over
// their keys and adds to dq. Both compute the weights that they need again: 7 products, not 5.
//
// FLOP            a head: 14·Tq·Tk·HS (half if causal)
// global memory   beside the tensors lse and D, 4 bytes a row each, where step 1 has p and ds
// asked for by fused_keys_kernel     loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS·⌈Tk/s⌉ + Tk)) bytes, half
// of
//                                    Tq's part if causal, stores 8·B·NH_kv·Tk·HS bytes
// asked for by fused_queries_kernel  loads 8·B·NH·(Tq·HS + Tk·HS·⌈Tq/s⌉ + Tq·Tk) bytes, half of
//                                    the last two if causal, stores 4·B·NH·Tq·HS bytes
// shared memory   41,728 bytes for HS = 64, 74,496 for 128 (35,200 with s = 16); reads as in step 1
// block           256 threads for s keys, or s queries, of a head: s is 32, or 16 if HS > 64 and a
//                 block may not have so much shared memory
// H200            2.82 ms for B 8, NH 12, T 1024, HS 64 causal
#include "backward/backward_parts.cuh"
#include "backward/launch_backward.hpp"
#include "backward/small_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention::backward {
namespace {

constexpr int WARPS = THREADS / WARP;

/// A block's tiles in shared memory.
template <class Sizes>
struct Tiles : Sizes {
  static constexpr int SIZE = Sizes::SIZE, STRIDE = Sizes::STRIDE;
  float *Q, *dO, *K, *V;  // (SIZE, D)
  float *P, *dS;          // (SIZE, SIZE)
  __device__ explicit Tiles(float* shared)
      : Q(shared),
        dO(Q + SIZE * STRIDE),
        K(dO + SIZE * STRIDE),
        V(K + SIZE * STRIDE),
        P(V + SIZE * STRIDE),
        dS(P + SIZE * (SIZE + 1)) {}
};

/// p and ds of the pairs of queries i0 … and keys j0 …, where a head's lse and D begin at `lse` and
/// `dots`. KEYS: a row of P and dS is a key, else a query.
template <bool KEYS, class Sizes>
__device__ void compute_pairs(const Tiles<Sizes>& tile, const Attention& shape, float scale,
                              const float* lse, const float* dots, int64_t i0, int64_t j0) {
  constexpr int D = Sizes::D, SIZE = Sizes::SIZE, E = SIZE / SIDE;
  float s[E][E] = {}, dp[E][E] = {};
  add_dots(s, KEYS ? tile.K : tile.Q, KEYS ? tile.Q : tile.K, D, tile.STRIDE);
  add_dots(dp, KEYS ? tile.V : tile.dO, KEYS ? tile.dO : tile.V, D, tile.STRIDE);
#pragma unroll
  for (int r = 0; r < E; ++r)
#pragma unroll
    for (int c = 0; c < E; ++c) {
      const int row = threadIdx.x / SIDE + SIDE * r, col = threadIdx.x % SIDE + SIDE * c;
      const int64_t i = i0 + (KEYS ? col : row), j = j0 + (KEYS ? row : col);
      const bool seen = i < shape.Tq && j < shape.visible_keys(i);
      const float p = seen ? weight(s[r][c], scale, log2_of_sum(lse[i])) : 0.0f;
      tile.P[row * (SIZE + 1) + col] = p;
      tile.dS[row * (SIZE + 1) + col] = seen ? p * (dp[r][c] - dots[i]) : 0.0f;
    }
}

/// Writes a tile of dq, dk or dv, factor·sums, from row `row0` of a head that has `rows`.
template <int E, int N>
__device__ void store_sums(float* to, const float (&sums)[E][N], float factor, int64_t row0,
                           int64_t rows, int HS) {
  for (int r = 0; r < E; ++r)
    for (int c = 0; c < N; ++c) {
      const int64_t row = row0 + threadIdx.x / SIDE + SIDE * r;
      const int col = threadIdx.x % SIDE + SIDE * c;
      if (row < rows && col < HS) to[row * HS + col] = factor * sums[r][c];
    }
}

/// dk and dv of a block's keys: over the heads that share them, and over their queries.
template <class Sizes>
__global__ void __launch_bounds__(THREADS)
    fused_keys_kernel(Attention shape, float scale, float factor, Operands at) {
  constexpr int D = Sizes::D, SIZE = Sizes::SIZE, E = SIZE / SIDE;
  extern __shared__ float shared[];
  const Tiles<Sizes> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * SIZE;
  const int64_t first = shape.first_query(j0) / SIZE * SIZE;

  load_tile<WARPS>(tile.K, SIZE, D, tile.STRIDE, at.k + kv_head * Tk * HS, j0, Tk, HS);
  load_tile<WARPS>(tile.V, SIZE, D, tile.STRIDE, at.v + kv_head * Tk * HS, j0, Tk, HS);
  float dk[E][D / SIDE] = {}, dv[E][D / SIDE] = {};
  for (int64_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head)
    for (int64_t i0 = first; i0 < Tq; i0 += SIZE) {
      load_tile<WARPS>(tile.Q, SIZE, D, tile.STRIDE, at.q + head * Tq * HS, i0, Tq, HS);
      load_tile<WARPS>(tile.dO, SIZE, D, tile.STRIDE, at.dout + head * Tq * HS, i0, Tq, HS);
      __syncthreads();
      compute_pairs<true>(tile, shape, scale, at.lse + head * Tq, at.D + head * Tq, i0, j0);
      __syncthreads();
      add_rows(dv, tile.P, tile.dO, tile.STRIDE);
      add_rows(dk, tile.dS, tile.Q, tile.STRIDE);
      __syncthreads();
    }
  store_sums(at.dk + kv_head * Tk * HS, dk, factor, j0, Tk, HS);
  store_sums(at.dv + kv_head * Tk * HS, dv, 1.0f, j0, Tk, HS);
}

/// dq of a block's queries, over their keys.
template <class Sizes>
__global__ void __launch_bounds__(THREADS)
    fused_queries_kernel(Attention shape, float scale, float factor, Operands at) {
  constexpr int D = Sizes::D, SIZE = Sizes::SIZE, E = SIZE / SIDE;
  extern __shared__ float shared[];
  const Tiles<Sizes> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, SIZE) - 1 - blockIdx.x / heads) * SIZE;
  const int64_t keys = shape.visible_keys(i0 + SIZE < Tq ? i0 + SIZE - 1 : Tq - 1);

  load_tile<WARPS>(tile.Q, SIZE, D, tile.STRIDE, at.q + head * Tq * HS, i0, Tq, HS);
  load_tile<WARPS>(tile.dO, SIZE, D, tile.STRIDE, at.dout + head * Tq * HS, i0, Tq, HS);
  float dq[E][D / SIDE] = {};
  for (int64_t j0 = 0; j0 < keys; j0 += SIZE) {
    load_tile<WARPS>(tile.K, SIZE, D, tile.STRIDE, at.k + kv_head * Tk * HS, j0, Tk, HS);
    load_tile<WARPS>(tile.V, SIZE, D, tile.STRIDE, at.v + kv_head * Tk * HS, j0, Tk, HS);
    __syncthreads();
    compute_pairs<false>(tile, shape, scale, at.lse + head * Tq, at.D + head * Tq, i0, j0);
    __syncthreads();
    add_rows(dq, tile.dS, tile.K, tile.STRIDE);
    __syncthreads();
  }
  store_sums(at.dq + head * Tq * HS, dq, factor, i0, Tq, HS);
}

}  // namespace

void fused(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "fused");
  with_square_sizes(shape.HS, [&]<class Sizes>() {
    constexpr int64_t BYTES = Sizes::BYTES;
    allow_bytes(fused_keys_kernel<Sizes>, BYTES, "fused");
    allow_bytes(fused_queries_kernel<Sizes>, BYTES, "fused");
    const unsigned keys = key_blocks(shape, Sizes::SIZE);
    const unsigned queries = query_blocks(shape, Sizes::SIZE);
    if (shape.HS == 0) return;
    require_workspace(workspace, workspace_bytes(shape, fused), "fused");
    float* const D = workspace.take<float>(shape.rows());
    row_dots(shape, at, D, stream);
    const float factor = score_scale(shape), scale = LOG2_E * factor;
    if (keys > 0) {
      fused_keys_kernel<Sizes>
          <<<keys, THREADS, BYTES, stream>>>(shape, scale, factor, Operands{at, D});
      CUDA_CHECK_LAUNCH();
    }
    if (queries > 0) {
      fused_queries_kernel<Sizes>
          <<<queries, THREADS, BYTES, stream>>>(shape, scale, factor, Operands{at, D});
      CUDA_CHECK_LAUNCH();
    }
  });
}

}  // namespace tutorial::flash_attention::backward
