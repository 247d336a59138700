// Step 7 = step 6, and the mask is asked only where it can matter: in tiles that meet the diagonal
// or the end of the keys. A warp skips tiles of which its rows see nothing, and rests if it has no
// rows. (The products of step 6 stand in products.cuh from here on.)
//
// FLOP            as step 6, of a causal mask's tiles fewer
// global memory   as step 6
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   as step 6
// block           as step 6
// H200            1.55 ms for B 4, NH 16, T 4096, HS 128 full, 99 % of FlashAttention 2
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;
constexpr int TALL = 2;                         // tiles of 16 rows of a warp
constexpr int Br = WARPS * TALL * 16, Bc = 64;  // queries of a block, keys of a tile

/// Rows of D numbers, one after the other, each with its chunks in an order of its own.
template <int HEAD_SIZE>
struct Swizzled {
  static constexpr int D = HEAD_SIZE, BYTES = (Br + 2 * Bc) * D * sizeof(bf16);
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

/// S becomes P = 2^(scale·S − m); m, l and O become those of all keys so far, but l of this lane's
/// columns only.
template <int D>
__device__ void softmax(float (&S)[Bc / 8][4], Rows16<D>& rows, float scale) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float max = -INFINITY, sum = 0;
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e) max = fmaxf(max, S[n][e]);
    max = fmaxf(rows.m[h], quad_max(max) * scale);
    const float base = finite_max(max), factor = exp2_approx(rows.m[h] - base);
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e)
        sum += S[n][e] = exp2_approx(fmaf(S[n][e], scale, -base));
    rows.m[h] = max;
    rows.l[h] = rows.l[h] * factor + sum;
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e) rows.O[d][e] *= factor;
  }
}

template <class Tile>
__global__ void __launch_bounds__(THREADS)
    masks_at_edges_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                          const bf16* __restrict__ k, const bf16* __restrict__ v,
                          bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D;
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;      // (Br, D)
  bf16* const K = Q + Br * D;  // (Bc, D)
  bf16* const V = K + Bc * D;  // (Bc, D)
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  const int HS = static_cast<int>(shape.HS);
  const BlockOf block(shape, Br);
  q += (block.head * Tq + block.i0) * HS;
  k += block.kv_head * Tk * HS;
  v += block.kv_head * Tk * HS;
  const int64_t last = block.i0 + Br < Tq ? block.i0 + Br : Tq;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(last - 1), Bc));
  // Every row of the warp sees the first `whole` tiles to their end, none sees more than `seen`.
  const int warp_row = threadIdx.x / WARP * TALL * 16;
  const int64_t first = block.i0 + warp_row;
  const int whole = static_cast<int>(shape.visible_keys(first) / Bc);
  const int seen =
      first < Tq ? static_cast<int>(ceil_div(shape.visible_keys(first + TALL * 16 - 1), Bc)) : 0;

  // Begins to copy tile j, if there is one. A group may be empty: so the one that is waited for
  // always is the last but one.
  const auto begin_copy = [&](bf16* tile, const bf16* from, int j) {
    const int64_t key = int64_t{j} * Bc;
    if (j < tiles) copy_rows<Tile, Bc, THREADS>(tile, from + key * HS, Tk - key, HS);
    __pipeline_commit();
  };
  const auto wait_for_last_but_one = [] {
    __pipeline_wait_prior(1);
    __syncthreads();
  };

  copy_rows<Tile, Br, THREADS>(Q, q, Tq - block.i0, HS);
  begin_copy(K, k, 0);
  Rows16<D> rows[TALL];
  for (int j = 0; j < tiles; ++j) {
    begin_copy(V, v, j);
    wait_for_last_but_one();  // K's tile j
    float S[TALL][Bc / 8][4] = {};
    if (j < seen) multiply_keys<Tile>(S, Q + warp_row * D, K);
    __syncthreads();  // nobody reads K any more
    begin_copy(K, k, j + 1);
    if (j < seen) {
      if (j >= whole)
#pragma unroll
        for (int m = 0; m < TALL; ++m) hide_masked(S[m], shape, first + m * 16, int64_t{j} * Bc);
#pragma unroll
      for (int m = 0; m < TALL; ++m) softmax(S[m], rows[m], scale);
    }
    wait_for_last_but_one();  // V's tile j
    if (j < seen) multiply_values<Tile>(rows, S, V);
    __syncthreads();  // nobody reads V any more
  }
#pragma unroll
  for (int m = 0; m < TALL; ++m) {
    for (float& l : rows[m].l) l = quad_sum(l);
    store_rows(out + block.head * Tq * HS, lse + block.head * Tq, rows[m], first + m * 16, Tq, HS,
               LN_2);
  }
}

}  // namespace

void masks_at_edges(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                    float* lse, cudaStream_t stream) {
  require_supported(shape, "masks_at_edges", 128, q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    const auto kernel = masks_at_edges_kernel<Swizzled<D>>;
    allow_shared_memory(kernel, Swizzled<D>::BYTES, "head size", shape.HS);
    const unsigned blocks = query_blocks(shape, Br);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, THREADS, Swizzled<D>::BYTES, stream>>>(shape, LOG2_E * score_scale(shape), q,
                                                            k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::tensor_cores
