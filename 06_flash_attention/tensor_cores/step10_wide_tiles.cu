// Step 10 = step 9 with tiles of 128 keys for head sizes up to 64, where O leaves registers for the
// sums of S: Q is read half as often, and a row has half as many maxima. (The softmax of step 9
// stands in softmax.cuh from here on.)
//
// FLOP            as step 7, in whole tiles of 128 × 128 pairs if HS ≤ 64
// global memory   as step 6
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   2·(128 + 4·Bc)·D bytes, with tiles of Bc = 64 keys, 128 if HS ≤ 64: 81,920 for
//                 HS = 64, 98,304 for HS = 128
// block           as step 6
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/softmax.cuh"
#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;
constexpr int BLOCKS_PER_SM = 2;       // as many are to have enough registers
constexpr int TALL = 2;                // tiles of 16 rows of a warp
constexpr int Br = WARPS * TALL * 16;  // queries of a block

/// Rows of D numbers, one after the other, each with its chunks in an order of its own. Bc: keys of
/// a tile.
template <int HEAD_SIZE>
struct Swizzled {
  static constexpr int D = HEAD_SIZE, Bc = D <= 64 ? 128 : 64, STAGE = 2 * Bc * D,
                       BYTES = (Br * D + 2 * STAGE) * sizeof(bf16);
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

template <class Tile>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    wide_tiles_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                      const bf16* __restrict__ k, const bf16* __restrict__ v,
                      bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, Bc = Tile::Bc;
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

void wide_tiles(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse, cudaStream_t stream) {
  require_supported(shape, "wide_tiles", 128, q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    const auto kernel = wide_tiles_kernel<Swizzled<D>>;
    allow_shared_memory(kernel, Swizzled<D>::BYTES, "head size", shape.HS);
    const unsigned blocks = query_blocks(shape, Br);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, THREADS, Swizzled<D>::BYTES, stream>>>(shape, LOG2_E * score_scale(shape), q,
                                                            k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::tensor_cores
