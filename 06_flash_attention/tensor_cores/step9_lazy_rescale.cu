// Step 9 = step 8, and O is rescaled only where a maximum has risen by more than 8 (in log2). Until
// then weights are up to 2^8 in place of 1: bf16 and float32 keep as many digits of them.
//
// FLOP            as step 7
// global memory   as step 6
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   as step 8
// block           as step 6
// H200            1.47 ms for B 4, NH 16, T 4096, HS 128 full, 105 % of FlashAttention 2
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
  static constexpr int D = HEAD_SIZE, STAGE = 2 * Bc * D,
                       BYTES = (Br * D + 2 * STAGE) * sizeof(bf16);
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

/// How much larger than 2^m a row's largest score may be (log2): 0 rescales at every rise. What FA4
/// takes for inputs of 16 bits.
constexpr float SLACK = 8;

/// S becomes P = 2^(scale·S − m), where m is a maximum of the keys so far, or SLACK less; l (of
/// this lane's columns) and O become those of all keys so far.
template <int D>
__device__ void softmax(float (&S)[Bc / 8][4], Rows16<D>& rows, float scale) {
  float max[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int n = 0; n < Bc / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) max[e / 2] = fmaxf(max[e / 2], S[n][e]);
#pragma unroll
  for (float& m : max) m = quad_max(m) * scale;

  // All lanes rescale or none does: so the test is no branch within the warp.
  if (__any_sync(0xffffffffu, max[0] > rows.m[0] + SLACK || max[1] > rows.m[1] + SLACK)) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      max[h] = fmaxf(rows.m[h], max[h]);
      const float factor = exp2_approx(rows.m[h] - finite_max(max[h]));
      rows.m[h] = max[h];
      rows.l[h] *= factor;
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) rows.O[d][e] *= factor;
    }
  }
  const float base[2] = {finite_max(rows.m[0]), finite_max(rows.m[1])};
#pragma unroll
  for (int n = 0; n < Bc / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      rows.l[e / 2] += S[n][e] = exp2_approx(fmaf(S[n][e], scale, -base[e / 2]));
}

template <class Tile>
__global__ void __launch_bounds__(THREADS)
    lazy_rescale_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                        const bf16* __restrict__ k, const bf16* __restrict__ v,
                        bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D;
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;           // (Br, D)
  bf16* const stages = Q + Br * D;  // two: (Bc, D) of K and (Bc, D) of V
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

  const auto begin_copy = [&](int j) {
    const int64_t key = int64_t{j} * Bc;
    bf16* const K = stages + j % 2 * Tile::STAGE;
    copy_rows<Tile, Bc, THREADS>(K, k + key * HS, Tk - key, HS);
    copy_rows<Tile, Bc, THREADS>(K + Bc * D, v + key * HS, Tk - key, HS);
    __pipeline_commit();
  };

  copy_rows<Tile, Br, THREADS>(Q, q, Tq - block.i0, HS);
  if (tiles > 0) begin_copy(0);
  Rows16<D> rows[TALL];
  for (int j = 0; j < tiles; ++j) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile j has come, and nobody reads the other stage any more
    if (j + 1 < tiles) begin_copy(j + 1);
    if (j >= seen) continue;
    const bf16* const K = stages + j % 2 * Tile::STAGE;
    float S[TALL][Bc / 8][4] = {};
    multiply_keys<Tile>(S, Q + warp_row * D, K);
    if (j >= whole)
#pragma unroll
      for (int m = 0; m < TALL; ++m) hide_masked(S[m], shape, first + m * 16, int64_t{j} * Bc);
#pragma unroll
    for (int m = 0; m < TALL; ++m) softmax(S[m], rows[m], scale);
    multiply_values<Tile>(rows, S, K + Bc * D);
  }
#pragma unroll
  for (int m = 0; m < TALL; ++m) {
    for (float& l : rows[m].l) l = quad_sum(l);
    store_rows(out + block.head * Tq * HS, lse + block.head * Tq, rows[m], first + m * 16, Tq, HS,
               LN_2);
  }
}

}  // namespace

void lazy_rescale(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                  float* lse, cudaStream_t stream) {
  require_supported(shape, "lazy_rescale", 128, q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    const auto kernel = lazy_rescale_kernel<Swizzled<D>>;
    allow_shared_memory(kernel, Swizzled<D>::BYTES, "head size", shape.HS);
    const unsigned blocks = query_blocks(shape, Br);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, THREADS, Swizzled<D>::BYTES, stream>>>(shape, LOG2_E * score_scale(shape), q,
                                                            k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::tensor_cores
