// Step 15 = step 14, and each sequence of the batch has a length of its own: a batch of sequences
// that are not equally long, padded to Tq and Tk. To a block its sequence is a problem of that
// length in a larger tensor; blocks past it only write zeros and lse = −∞. What lies in the padding
// is not read.
//
// FLOP            as step 14, for each sequence's own Tq and Tk
// global memory   as step 6, for these; and all of out
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, for each sequence its own,
//                 stores 2·B·NH·Tq·(HS + 2) bytes (the small tile ⌈Tq/64⌉; of all Tq), and each
//                 thread loads its two lengths
// shared memory   as step 12, or as step 13
// block           as step 11
#include "common/kernel/shared_memory.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/rows_apart.cuh"
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

/// ALIGNED: all rows begin at multiples of 16 bytes.
template <class Tile, bool ALIGNED>
__global__ void __launch_bounds__(Tile::THREADS, Tile::BLOCKS_PER_SM)
    lengths_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                   const bf16* __restrict__ k, const bf16* __restrict__ v, bf16* __restrict__ out,
                   float* __restrict__ lse) {
  constexpr int D = Tile::D, TALL = Tile::TALL, THREADS = Tile::THREADS;
  constexpr int Br = Tile::Br, Bc = Tile::Bc;  // queries of a block, keys of a tile
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;           // (Br, D)
  bf16* const stages = Q + Br * D;  // two: (Bc, D) of K and (Bc, D) of V
  const int HS = static_cast<int>(shape.HS);
  const BlockOf block(shape, Br);
  const auto [batch, head, kv_head] = HeadOf(shape, block);
  const Attention own = shape.sequence(batch);
  const int64_t Tq = own.Tq, Tk = own.Tk;
  const TensorStrides& strides = shape.strides;
  q += strides.q.at(batch, head, block.i0);
  k += strides.k.at(batch, kv_head, 0);
  v += strides.v.at(batch, kv_head, 0);
  out += strides.out.at(batch, head, 0);
  const int64_t last = block.i0 + Br < Tq ? block.i0 + Br : Tq;
  const int tiles = block.i0 < Tq ? static_cast<int>(ceil_div(own.visible_keys(last - 1), Bc)) : 0;
  // Every row of the warp sees the first `whole` tiles to their end, none sees more than `seen`.
  const int warp_row = threadIdx.x / WARP * TALL * 16;
  const int64_t first = block.i0 + warp_row;
  const int whole = static_cast<int>(own.visible_keys(first) / Bc);
  const int seen =
      first < Tq ? static_cast<int>(ceil_div(own.visible_keys(first + TALL * 16 - 1), Bc)) : 0;

  const auto begin_copy = [&](int j) {
    const int64_t key = int64_t{j} * Bc;
    bf16* const K = stages + j % 2 * Tile::STAGE;
    const auto copy = [&](bf16* tile, const bf16* from, int64_t apart) {
      copy_rows_apart<Tile, Bc, THREADS, ALIGNED>(tile, from + key * apart, apart, Tk - key, HS);
    };
    copy(K, k, strides.k.token);
    copy(K + Bc * D, v, strides.v.token);
    __pipeline_commit();
  };

  copy_rows_apart<Tile, Br, THREADS, ALIGNED>(Q, q, strides.q.token, Tq - block.i0, HS);
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
      for (int m = 0; m < TALL; ++m) hide_masked(S[m], own, first + m * 16, int64_t{j} * Bc);
#pragma unroll
    for (int m = 0; m < TALL; ++m) softmax(S[m], rows[m], scale);
    multiply_values<Tile>(rows, S, K + Bc * D);
  }
#pragma unroll
  for (int m = 0; m < TALL; ++m) {
    for (float& l : rows[m].l) l = quad_sum(l);
    clear_padding(rows[m], first + m * 16, Tq);
    store_rows_apart<ALIGNED>(out, strides.out.token, lse + block.head * shape.Tq, rows[m],
                              first + m * 16, shape.Tq, HS, LN_2);
  }
}

}  // namespace

void lengths(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
             float* lse, cudaStream_t stream) {
  require_head_size(shape, "lengths", 256, STRIDES | LENGTHS);
  const Attention there = with_strides(shape);
  const auto launch = [&]<int D, bool ALIGNED>() {
    constexpr bool HAS_SMALL = D > 128;
    with_first_that_fits<Sized<D>, Sized<D, HAS_SMALL>>(shared_memory_limit(), [&]<class T>() {
      const auto kernel = lengths_kernel<T, ALIGNED>;
      allow_shared_memory(kernel, T::BYTES, "head size", shape.HS);
      const unsigned blocks = query_blocks(shape, T::Br);
      if (shape.rows() * shape.HS == 0) return;
      kernel<<<blocks, T::THREADS, T::BYTES, stream>>>(there, LOG2_E * score_scale(shape), q, k, v,
                                                       out, lse);
      CUDA_CHECK_LAUNCH();
    });
  };
  if (all_rows_aligned(there, q, k, v, out))
    with_padded_head_size<16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256>(
        shape.HS, [&]<int D>() { launch.template operator()<D, true>(); });
  else
    with_padded_head_size<64, 128, 256>(shape.HS,
                                        [&]<int D>() { launch.template operator()<D, false>(); });
}

}  // namespace tutorial::flash_attention::tensor_cores
