// Step 12 = step 11 with rows padded to the next multiple of 16 up to 128, and of 32 above, not of
// 64: so the swizzle is one for any length of row.
//
// FLOP            as step 10, for HS padded to a multiple of 16 or 32
// global memory   as step 6
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
//                 (the small tile ⌈Tq/64⌉)
// shared memory   as step 11, for this D
// block           as step 11
// H200            1.68 ms for B 4, NH 32, T 4096, HS 64 full, 109 % of FlashAttention 2
#include "common/kernel/shared_memory.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/softmax.cuh"
#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {
namespace {

/// Tiles for a head size, and rows of D numbers, each with its chunks in an order of its own.
/// SMALL: where the other tile is too large for a device, as it is above 128 for 99 KB a block.
template <int HEAD_SIZE, bool SMALL = false>
struct Sized {
  static constexpr int D = HEAD_SIZE, TALL = D <= 128 ? 2 : 1;
  static constexpr int Br = SMALL ? 64 : 128, Bc = SMALL ? 32 : D <= 64 ? 128 : 64;
  static constexpr int WARPS = Br / 16 / TALL, THREADS = WARPS * WARP;
  static constexpr int STAGE = 2 * Bc * D, BYTES = (Br * D + 2 * STAGE) * sizeof(bf16);
  static constexpr int BLOCKS_PER_SM = D <= 128 ? 2 : 1;
  // Eight rows of C chunks begin at C·row mod 8 of the eight chunks that the banks hold side by
  // side: at COUNT different ones only, each 8/COUNT times. So the xor has to change every COUNT
  // rows.
  static constexpr int COUNT = D % 64 == 0 ? 1 : D % 32 == 0 ? 2 : 4;
  static __device__ int place(int row, int chunk) {
    return row * D + (chunk ^ row / COUNT % (8 / COUNT)) * CHUNK;
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, Tile::BLOCKS_PER_SM)
    head_sizes_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                      const bf16* __restrict__ k, const bf16* __restrict__ v,
                      bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, TALL = Tile::TALL, THREADS = Tile::THREADS;
  constexpr int Br = Tile::Br, Bc = Tile::Bc;  // queries of a block, keys of a tile
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

void head_sizes(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse, cudaStream_t stream) {
  require_supported(shape, "head_sizes", 256, q, k, v, out);
  const auto launch = [&]<int D>() {
    constexpr bool HAS_SMALL = D > 128;
    with_first_that_fits<Sized<D>, Sized<D, HAS_SMALL>>(shared_memory_limit(), [&]<class T>() {
      const auto kernel = head_sizes_kernel<T>;
      allow_shared_memory(kernel, T::BYTES, "head size", shape.HS);
      const unsigned blocks = query_blocks(shape, T::Br);
      if (shape.rows() * shape.HS == 0) return;
      kernel<<<blocks, T::THREADS, T::BYTES, stream>>>(shape, LOG2_E * score_scale(shape), q, k, v,
                                                       out, lse);
      CUDA_CHECK_LAUNCH();
    });
  };
  with_padded_head_size<16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256>(shape.HS, launch);
}

}  // namespace tutorial::flash_attention::tensor_cores
