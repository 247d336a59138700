// Step 2 = step 1 + dq from the blocks of keys: each adds its part, one after the other.
//
// FLOP            10·HS a pair: five products
// global memory   as in step 1, and 4·B·NH·Tq·HS bytes of sums
// asked for by in_turn_kernel  loads 4·B·(NH_kv·Tk·HS + NH·Tq·(HS + 2)·⌈Tk/128⌉) bytes and the
// sums, half
//                              of Tq's part if causal, stores 4·B·NH_kv·Tk·HS bytes
// shared memory   as in step 1, and 16 KB for dS
// block           256 threads for 128 keys
//
// A block of keys has all that dq = dS·k needs of its keys. What it lacks is the other blocks'
// part. Added up by atomics the parts would come in another order in each run, and with it other
// bits. So each tile of 64 queries has a turn: block j of a head waits until block j − 1 has added
// its part. While one adds, the next one is a tile behind, so after the first tile nobody waits
// long. Blocks take their numbers when they begin: whoever is waited for has begun.
//
// dS of a tile is in eight warps' registers, with keys as rows. It goes through shared memory, and
// ldmatrix_trans reads it as A with queries as rows.
#include <string>

#include "backward_tensor_cores/tiles.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// What the blocks share, in the workspace: dq so far, whose turn it is, and the next block's
/// number.
struct Turns {
  float* dq;       // (B·NH·Tq, HS)
  unsigned* turn;  // (B·NH, tiles of queries), from 0 on
  unsigned* next;  // from 0 on
  int64_t tiles;
};

/// A row of dSᵀ has 64 queries, 8 chunks.
__device__ int place_in_ds(int key, int chunk) {
  return key * OTHER_ROWS + (chunk ^ key % 8) * CHUNK;
}

__device__ void store_ds(bf16* to, const float (&dS)[OTHER_ROWS / 8][4]) {
  const int key = threadIdx.x / WARP * 16 + threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < OTHER_ROWS / 8; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<uint32_t*>(&to[place_in_ds(key + 8 * h, i) + 2 * t]) =
          pack<bf16>(dS[i][2 * h], dS[i][2 * h + 1]);
}

/// A warp's part of dS·K: 16 queries from `query` on, D / 2 columns from chunk `chunk` on.
template <class Tile>
__device__ void multiply_ds(float (&sums)[Tile::D / 16][4], const bf16* dS, const bf16* K,
                            int query, int chunk) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int key = 0; key < OWN_ROWS; key += 16) {
    uint32_t a[4], b[4];
    ldmatrix_trans(a,
                   &dS[place_in_ds(key + lane / 16 * 8 + lane % 8, query / CHUNK + lane / 8 % 2)]);
#pragma unroll
    for (int d = 0; d < Tile::D / 16; d += 2) {
      ldmatrix_trans(b, &K[Tile::place(key + lane % 16, chunk + d + lane / 16)]);
      mma_m16n8k16<bf16>(sums[d], a, b[0], b[1]);
      mma_m16n8k16<bf16>(sums[d + 1], a, b[2], b[3]);
    }
  }
}

/// Adds them to what the blocks before have left in dq, or begins with them. Past L1, which knows
/// nothing of other multiprocessors' stores.
template <int COUNT>
__device__ void add_to(float* dq, const float (&sums)[COUNT][4], bool is_first, int64_t rows_there,
                       int columns, int HS) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (g + 8 * h >= rows_there) continue;
#pragma unroll
    for (int d = 0; d < COUNT; ++d) {
      if (8 * d >= columns) break;
      auto* const to = reinterpret_cast<float2*>(&dq[(g + 8 * h) * HS + 8 * d + 2 * t]);
      float2 sum = is_first ? make_float2(0, 0) : __ldcg(to);
      sum.x += sums[d][2 * h];
      sum.y += sums[d][2 * h + 1];
      __stcg(to, sum);
    }
  }
}

template <class Tile>
__global__ void __launch_bounds__(THREADS, 1)
    in_turn_kernel(Attention shape, float scale, float factor, Operands at, Turns turns) {
  constexpr int D = Tile::D;
  extern __shared__ __align__(16) bf16 shared[];
  __shared__ unsigned number;
  const Memory<Tile> memory(shared + OWN_ROWS * OTHER_ROWS);
  bf16* const shared_ds = shared;  // (OWN_ROWS, OTHER_ROWS): dSᵀ
  if (threadIdx.x == 0) number = atomicAdd(turns.next, 1u);
  __syncthreads();
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int HS = static_cast<int>(shape.HS), warp = threadIdx.x / WARP;
  const unsigned j = static_cast<unsigned>(number / heads);
  const int64_t kv_head = number % heads, j0 = int64_t{j} * OWN_ROWS;
  const QueryTiles<Tile> queries(shape, kv_head, j0);
  const auto turn_of = [&](int n) {
    return turns.turn + queries.head(n) * turns.tiles + queries.i0(n) / OTHER_ROWS;
  };
  const auto pass_on = [&](int n) {  // tile n's part has been stored by all
    if (threadIdx.x != 0) return;
    __threadfence();
    atomicExch(turn_of(n), j + 1);
  };

  const int64_t first = kv_head * Tk + j0;
  copy_rows<Tile, OWN_ROWS, THREADS>(memory.x, at.k + first * HS, Tk - j0, HS);
  copy_rows<Tile, OWN_ROWS, THREADS>(memory.x2, at.v + first * HS, Tk - j0, HS);
  Rows16<D> dk[1], dv[1];
  for_each_tile<Tile>(
      queries.count, [&](int n) { copy_queries(memory, shape, at, queries, n); },
      [&](int n) {
        if (n > 0) pass_on(n - 1);  // behind the barrier that this tile begins with
        float dS[1][OTHER_ROWS / 8][4] = {};
        add_tile(dk, dv, dS, memory, shape, scale, queries.i0(n), j0 + warp * 16, n);
        store_ds(shared_ds, dS[0]);
        if (threadIdx.x == 0)
          while (atomicAdd(turn_of(n), 0u) != j) {
          }
        __threadfence();
        __syncthreads();  // dS is there, and it is this block's turn
        const int query = warp % 4 * 16, column = warp / 4 * (D / 2);
        float sums[D / 16][4] = {};
        multiply_ds<Tile>(sums, shared_ds, memory.x, query, column / CHUNK);
        const int64_t row = queries.i0(n) + query;
        add_to(turns.dq + (queries.head(n) * Tq + row) * HS + column, sums, j == 0, Tq - row,
               HS - column, HS);
      });
  __syncthreads();
  if (queries.count > 0) pass_on(queries.count - 1);
  const int64_t there = Tk - j0 - warp * 16;
  store_sums(at.dk + (first + warp * 16) * HS, dk[0], factor, there, HS);
  store_sums(at.dv + (first + warp * 16) * HS, dv[0], 1, there, HS);
}

/// dq = factor · its sums, or zeros where a tile of queries sees no key. Two numbers a thread.
__global__ void __launch_bounds__(THREADS)
    round_dq_kernel(Attention shape, float factor, const float* __restrict__ sums,
                    bf16* __restrict__ dq) {
  const int64_t pair = int64_t{blockIdx.x} * THREADS + threadIdx.x;
  if (2 * pair >= shape.rows() * shape.HS) return;
  const int64_t tile = 2 * pair / shape.HS % shape.Tq / OTHER_ROWS;
  const bool is_seen = shape.Tk > 0 && tile >= shape.first_query(0) / OTHER_ROWS;
  const float2 sum =
      is_seen ? reinterpret_cast<const float2*>(sums)[pair] : make_float2(0.0f, 0.0f);
  reinterpret_cast<uint32_t*>(dq)[pair] = pack<bf16>(factor * sum.x, factor * sum.y);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  constexpr int BYTES = Tile::BYTES + OWN_ROWS * OTHER_ROWS * static_cast<int>(sizeof(bf16));
  tutorial::allow_shared_memory(in_turn_kernel<Tile>, BYTES,
                                "head size " + std::to_string(shape.HS),
                                "take --kernel seven_products");
  const unsigned keys = grid_blocks(shape.B * shape.NH_kv * ceil_div(shape.Tk, OWN_ROWS));
  const unsigned pairs = grid_blocks(ceil_div(shape.rows() * shape.HS, 2 * THREADS));
  require_workspace(workspace, workspace_bytes(shape, in_turn), "in_turn");
  if (shape.HS == 0) return;
  float* const D = workspace.take<float>(shape.rows());
  const int64_t count = counters(shape);
  Turns turns{};
  turns.dq = workspace.take<float>(shape.rows() * shape.HS);
  turns.next = workspace.take<unsigned>(count);
  turns.turn = turns.next + 1;
  turns.tiles = ceil_div(shape.Tq, OTHER_ROWS);
  CUDA_CHECK(cudaMemsetAsync(turns.next, 0, count * sizeof(unsigned), stream));
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  const Operands operands{at, D};
  if (keys > 0) {
    in_turn_kernel<Tile><<<keys, THREADS, BYTES, stream>>>(shape, scale, factor, operands, turns);
    CUDA_CHECK_LAUNCH();
  }
  if (pairs > 0) {
    round_dq_kernel<<<pairs, THREADS, 0, stream>>>(shape, factor, turns.dq, at.dq);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void in_turn(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_supported(shape, "in_turn", at);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    with_first_that_fits<Swizzled<D, 2>, Swizzled<D, 1>>(
        shared_memory_limit() - OWN_ROWS * OTHER_ROWS * 2,
        [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); });
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
