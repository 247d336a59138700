// Step 4 = step 2 with five products: blocks of keys make dq, too. Each adds its part to sums in
// global memory when it is its turn, so the sums have the same bits in each run. A turn is read
// before it is needed, and given on a tile later, when the numbers have arrived. Where a head has
// up to 64 numbers a warp has 32 keys: what it reads from shared memory is multiplied twice as
// often.
//
// long diff       against step 2; step 3 has other shapes
//
// FLOP            10·HS a pair: five products, each once
// global memory   as step 1, and the sums of dq: 8·B·NH·Tq·D bytes, that many again for each 128
//                 keys where the L2 cache has no room
// asked for by sum_rows_kernel  loads 4·B·NH·Tq·(HS + 1) bytes,
//                 stores 8·B·NH·⌈Tq/Br⌉·(Br + 1) + 8 bytes, less one turn a tile: 4·B·NH·⌈Tq/Br⌉
// asked for by five_products_kernel
//                 loads 4·B·(NH_kv·Tk·HS + NH·(Tq·HS + 2·⌈Tq/Br⌉·Br)·⌈Tk/128⌉) bytes, half
//                 of what has Tq if causal, stores 4·B·(NH_kv·Tk·HS + NH·⌈Tq/Br⌉·Br·D) bytes
//                 (what later blocks add is not counted)
// asked for by store_queries_kernel  loads 4·B·NH·⌈Tq/Br⌉·Br·D bytes, stores 2·B·NH·Tq·HS bytes
// shared memory   4·D·(128 + 2·Br) bytes of a block's rows and two tiles of Br = 64 queries, and
//                 256·Br of dSᵀ; of 128 numbers, where a block may not have so much of it, one
//                 tile and Br = 32. D is HS, padded to 64 or 128
// block           128 keys: 128 threads if D = 64, else 256
#include "backward_tensor_cores/sums_in_turn.hpp"
#include "backward_tensor_cores/tiles.cuh"
#include "common/kernel/turns.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// A warp has TALL times 16 keys, and has registers for the scores of AT_ONCE queries. Behind the
/// tiles lies dSᵀ (128 keys, COLS queries).
template <int HEAD_SIZE, int COLS_, int STAGES_>
struct Five : Tiles<HEAD_SIZE, KEYS, COLS_, STAGES_> {
  using Base = Tiles<HEAD_SIZE, KEYS, COLS_, STAGES_>;
  using Gradients = Tiles<COLS_, KEYS, 16, 1>;  // place() alone is asked for
  static constexpr int D = HEAD_SIZE, COLS = COLS_;
  static constexpr int TALL = D == 64 ? 2 : 1, AT_ONCE = COLS / TALL;
  static constexpr int WARPS = KEYS / (16 * TALL), THREADS = WARPS * WARP;
  static constexpr int BYTES = Base::BYTES + KEYS * COLS * static_cast<int>(sizeof(bf16));
  static constexpr int BLOCKS = D == 64 ? 2 : 1;  // of a multiprocessor
  /// Of the tile's dq (COLS, D) a warp makes 16 or 32 rows of 32 columns.
  static constexpr int PART_ROWS = COLS * D / 32 / WARPS, PART = PART_ROWS * 32;
};

/// Where a warp's part of the tile's dq begins.
template <class Tile>
struct PartOf {
  int query, column;
  explicit __device__ PartOf(int warp)
      : query(warp / (Tile::D / 32) * Tile::PART_ROWS), column(warp % (Tile::D / 32) * 32) {}
};

/// Pᵀ (16·TALL, 8·N) of keys from j0 and queries from i0 on. Unlike in step 1 it must be 0 for keys
/// that are not there, as dq is summed over keys.
template <class Tile, int TALL, int N>
__device__ void make_weights(float (&P)[TALL][N][4], const bf16* K, const bf16* Q,
                             const float* log2_sums, const Attention& shape, float scale,
                             int64_t i0, int64_t j0) {
  const int key = threadIdx.x % WARP / 4, query = threadIdx.x % 4 * 2;
  multiply_keys<Tile>(P, K, Q);
#pragma unroll
  for (int m = 0; m < TALL; ++m) {
    if (shape.causal) hide_unseen(P[m], shape, i0, j0 + 16 * m);
    if (j0 + 16 * m + 16 > shape.Tk) {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (j0 + 16 * m + key + e / 2 * 8 >= shape.Tk) P[m][n][e] = -INFINITY;
    }
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        P[m][n][e] = exp2_approx(fmaf(P[m][n][e], scale, -log2_sums[8 * n + query + e % 2]));
  }
}

/// dSᵀ of the same pairs.
template <class Tile, int TALL, int N>
__device__ void make_gradients(float (&dS)[TALL][N][4], const float (&P)[TALL][N][4], const bf16* V,
                               const bf16* dO, const float* row_dots) {
  const int query = threadIdx.x % 4 * 2;
  multiply_keys<Tile>(dS, V, dO);
#pragma unroll
  for (int m = 0; m < TALL; ++m)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        dS[m][n][e] = P[m][n][e] * (dS[m][n][e] - row_dots[8 * n + query + e % 2]);
}

/// Writes them to shared memory for the other warps: rows from `key`, columns from `query` on.
template <class Tile, int TALL, int N>
__device__ void put_gradients(bf16* to, const float (&dS)[TALL][N][4], int key, int query) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int m = 0; m < TALL; ++m)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = key + 16 * m + 8 * h + g;
        *reinterpret_cast<uint32_t*>(&to[Tile::Gradients::place(row, query / 8 + n) + 2 * t]) =
            pack<bf16>(dS[m][n][2 * h], dS[m][n][2 * h + 1]);
      }
}

/// A warp's part of dq = dS·K. The sum is over keys, the rows of both in shared memory: so A and B
/// are read transposed.
template <class Tile>
__device__ void multiply_part(float (&dq)[Tile::PART_ROWS / 16][4][4], const bf16* dS,
                              const bf16* K, const PartOf<Tile>& of) {
  constexpr int TALL = Tile::PART_ROWS / 16;
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int key = 0; key < KEYS; key += 16) {
    uint32_t a[TALL][4], b[4];
#pragma unroll
    for (int m = 0; m < TALL; ++m)
      ldmatrix_trans(a[m], &dS[Tile::Gradients::place(lane / 16 * 8 + lane % 8,
                                                      of.query / 8 + 2 * m + lane / 8 % 2) +
                               key * Tile::COLS]);
#pragma unroll
    for (int n = 0; n < 4; n += 2) {
      ldmatrix_trans(b, &K[Tile::place(lane % 16, of.column / 8 + n + lane / 16) + key * Tile::D]);
#pragma unroll
      for (int m = 0; m < TALL; ++m) {
        mma_m16n8k16<bf16>(dq[m][n], a[m], b[0], b[1]);
        mma_m16n8k16<bf16>(dq[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, Tile::BLOCKS)
    five_products_kernel(Attention shape, hopper::Schedule schedule, float scale, float factor,
                         Tensors at, Sums sums) {
  constexpr int D = Tile::D, COLS = Tile::COLS, TALL = Tile::TALL, AT_ONCE = Tile::AT_ONCE;
  extern __shared__ __align__(16) bf16 shared[];
  __shared__ int64_t shared_ticket;
  const Memory<Tile> memory(shared);
  bf16* const gradients = shared + Tile::Base::BYTES / sizeof(bf16);
  if (threadIdx.x == 0) shared_ticket = static_cast<int64_t>(atomicAdd(sums.next_ticket, 1));
  __syncthreads();
  // Earlier tickets have the earlier keys of a head.
  const auto [kv_head, backwards] = schedule.place(shared_ticket);
  const auto block = static_cast<unsigned>(schedule.tiles - 1 - backwards);
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  const int64_t j0 = int64_t{block} * KEYS;
  const int HS = static_cast<int>(shape.HS), tiles = static_cast<int>(ceil_div(Tq, COLS));
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, warp_row = warp * 16 * TALL;
  const PartOf<Tile> part(warp);

  // The last tile first: with a mask it is the only one that every block of a head surely has.
  const int hidden = static_cast<int>(shape.first_query(j0) / COLS);
  const int of_a_head = hidden < tiles ? tiles - hidden : 0,
            group = static_cast<int>(shape.group());
  const int count = group * of_a_head, first_head = static_cast<int>(kv_head) * group;
  const auto i0_of = [&](int n) { return (tiles - 1 - n % of_a_head) * COLS; };
  const auto head_of = [&](int n) { return first_head + n / of_a_head; };
  const auto tile_of = [&](int n) { return head_of(n) * tiles + tiles - 1 - n % of_a_head; };
  const auto begin_copy = [&](int n) {
    const int64_t i0 = i0_of(n), row = int64_t{head_of(n)} * Tq + i0;
    begin_rows<Tile, COLS>(memory.y(n), at.q + row * HS, Tq - i0, HS);
    begin_rows<Tile, COLS>(memory.y2(n), at.dout + row * HS, Tq - i0, HS);
    const int x = 4 * threadIdx.x;
    if (x < 2 * COLS)
      copy_async<4>(memory.sums(n) + x, sums.of_queries + int64_t{tile_of(n)} * 2 * COLS + x);
  };

  const int64_t first = kv_head * Tk + j0;
  begin_rows<Tile, KEYS>(memory.x, at.k + first * HS, Tk - j0, HS);
  begin_rows<Tile, KEYS>(memory.x2, at.v + first * HS, Tk - j0, HS);
  Rows16<D> dk[TALL], dv[TALL];
  for_each_tile<Tile>(count, begin_copy, [&](int n) {
    const int tile = tile_of(n);
    unsigned turn = 0;
    if (lane == 0 && block > 0) turn = turn_of(&sums.turns[tile]);
#pragma unroll
    for (int i = 0; i < COLS; i += AT_ONCE) {
      const bf16 *const Q = memory.y(n) + i * D, *const dO = memory.y2(n) + i * D;
      const float* const log2_sums = memory.sums(n) + i;
      float P[TALL][AT_ONCE / 8][4] = {}, dS[TALL][AT_ONCE / 8][4] = {};
      make_weights<Tile>(P, memory.x + warp_row * D, Q, log2_sums, shape, scale, i0_of(n) + i,
                         j0 + warp_row);
      // What the tile before added has arrived by now, so that telling others waits for nothing.
      if (i == 0 && n > 0 && threadIdx.x == 0) next_turn(&sums.turns[tile_of(n - 1)]);
      multiply_values<Tile>(dv, P, dO);
      make_gradients<Tile>(dS, P, memory.x2 + warp_row * D, dO, log2_sums + COLS);
      put_gradients<Tile>(gradients, dS, warp_row, i);
      multiply_values<Tile>(dk, dS, Q);
    }
    // All warps' dSᵀ are there; the barrier of the next tile keeps them until all have read them.
    __syncthreads();
    float dq[Tile::PART_ROWS / 16][4][4] = {};
    multiply_part(dq, gradients, memory.x, part);
    if (block > 0) {
      if (lane == 0)
        while (turn != block) turn = turn_of(&sums.turns[tile]);
      __syncwarp();
    }
    float* const to = sums.dq + (int64_t{tile} * Tile::WARPS + warp) * Tile::PART + lane;
#pragma unroll
    for (int x = 0; x < Tile::PART / WARP; ++x) {
      const float number = dq[x / 16][x / 4 % 4][x % 4];
      if (block == 0)
        to[x * WARP] = number;
      else
        atomicAdd(&to[x * WARP], number);
    }
  });
  __syncthreads();
  if (count > 0 && threadIdx.x == 0) next_turn(&sums.turns[tile_of(count - 1)]);

#pragma unroll
  for (int m = 0; m < TALL; ++m) {
    const int64_t row = warp_row + 16 * m, there = Tk - j0 - row;
    store_sums(at.dk + (first + row) * HS, dk[m], factor, there, HS);
    store_sums(at.dv + (first + row) * HS, dv[m], 1, there, HS);
  }
}

/// Rounds dq: a block has a tile, and its warps the parts of the kernel before.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS)
    store_queries_kernel(Attention shape, float factor, Tensors at, Sums sums) {
  const int64_t Tq = shape.Tq, tiles = ceil_div(Tq, Tile::COLS);
  const int64_t head = blockIdx.x / tiles, begin = blockIdx.x % tiles * Tile::COLS;
  const int64_t end = begin + Tile::COLS < Tq ? begin + Tile::COLS : Tq;
  const bool has_keys = shape.visible_keys(end - 1) > 0;  // else nobody has begun its sums
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const PartOf<Tile> part(warp);
  const float* const from =
      sums.dq + (int64_t{blockIdx.x} * Tile::WARPS + warp) * Tile::PART + lane;
#pragma unroll
  for (int x = 0; x < Tile::PART / WARP; x += 2) {
    const float low = has_keys ? from[x * WARP] : 0, high = has_keys ? from[(x + 1) * WARP] : 0;
    const int64_t i = begin + part.query + x / 16 * 16 + x % 4 / 2 * 8 + lane / 4;
    const int column = part.column + x / 4 % 4 * 8 + lane % 4 * 2;
    if (i < Tq && column < shape.HS)
      *reinterpret_cast<uint32_t*>(&at.dq[(head * Tq + i) * shape.HS + column]) =
          pack<bf16>(factor * low, factor * high);
  }
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  const auto kernel = five_products_kernel<Tile>;
  allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
  const Sums sums = take_sums(shape, "five_products", workspace, Tile::COLS, 1);
  if (is_done_without(shape, at, stream)) return;
  const hopper::Schedule schedule = schedule_of_keys(shape, {}, BYTES_OF_MMA);
  const unsigned keys = grid_blocks(schedule.tickets());
  const unsigned queries = grid_blocks(shape.B * shape.NH * ceil_div(shape.Tq, Tile::COLS));
  const float factor = score_scale(shape);
  sum_rows(shape, at, sums, stream);
  kernel<<<keys, Tile::THREADS, Tile::BYTES, stream>>>(shape, schedule, LOG2_E * factor, factor, at,
                                                       sums);
  CUDA_CHECK_LAUNCH();
  store_queries_kernel<Tile><<<queries, Tile::THREADS, 0, stream>>>(shape, factor, at, sums);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void five_products(const Attention& shape, const Tensors& at, Workspace workspace,
                   cudaStream_t stream) {
  require_supported(shape, "five_products", at);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    with_first_that_fits<Five<D, 64, 2>, Five<D, 4096 / D, 1>>(
        shared_memory_limit(), [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); });
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
