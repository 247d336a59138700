// Step 1: a block has 128 keys, or 128 queries, and walks over tiles of the others.
//
// FLOP            14·HS a pair: seven products, of which S = q·kᵀ and dP = dout·vᵀ are made twice
// global memory   at least 2·(4·B·NH·Tq + 4·B·NH_kv·Tk)·HS bytes, and 4·B·NH·Tq of lse
// asked for by keys_kernel  loads 4·B·(NH_kv·Tk·HS + NH·Tq·(HS + 2)·⌈Tk/128⌉) bytes, half of Tq's
//                           part if causal, stores 4·B·NH_kv·Tk·HS bytes
// asked for by queries_kernel  loads 4·B·NH·(Tq·(HS + 8) + Tk·HS·⌈Tq/128⌉) bytes, half of Tk's part
//                              if causal, stores 2·B·NH·Tq·HS bytes
// shared memory   6·D·128 bytes of a block's rows and a tile, 1.5 times that with two stages of
// tiles;
//                 D is HS, padded to 64 or 128
// block           256 threads for 128 keys, or 128 queries; a warp has 16 rows
//
// Both kernels do the same. A warp has 16 rows x and walks over rows y:
//
//                  x, x'       y, y'       P = exp(x·yᵀ…)    dS = P ∘ (x'·y'ᵀ − D)
//   queries_kernel q, dout     k, v        16 queries × keys  dq += dS·k
//   keys_kernel    k, v        q, dout     16 keys × queries  dv += Pᵀ·dout, dk += dSᵀ·q
//
// With keys as its rows a warp has Pᵀ in its registers as the forward pass has P: the sums of one
// product are the A of the next. So nothing is transposed in shared memory. ldmatrix reads y in
// both ways: along d for x·yᵀ, and by ldmatrix_trans for the products behind.
#include "backward/backward_parts.cuh"
#include "backward_tensor_cores/launch.hpp"
#include "common/kernel/shared_memory.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

using backward::log2_of_sum, backward::QueryTiles;
using tensor_cores::BlockOf, tensor_cores::CHUNK, tensor_cores::copy_rows, tensor_cores::Rows16;
using tensor_cores::multiply_keys, tensor_cores::multiply_values, tensor_cores::hide_masked;

constexpr int WARPS = 8, THREADS = WARPS * WARP;
static_assert(OWN_ROWS == WARPS * 16);

/// How rows lie in shared memory: as in part tensor_cores' step 2, each with its chunks in an order
/// of its own. First the block's rows x and x', then STAGES tiles y and y'.
template <int HEAD_SIZE, int STAGES_>
struct Swizzled {
  static constexpr int D = HEAD_SIZE, STAGES = STAGES_, COLS = OTHER_ROWS;
  static constexpr int OWN = OWN_ROWS * D, OTHER = OTHER_ROWS * D;  // numbers of x, of y
  static constexpr int BYTES = 2 * (OWN + STAGES * OTHER) * static_cast<int>(sizeof(bf16)) +
                               2 * STAGES * OTHER_ROWS * static_cast<int>(sizeof(float));
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

/// A block's shared memory.
template <class Tile>
struct Memory {
  bf16 *x, *x2;    // (OWN_ROWS, D)
  bf16* tiles;     // (STAGES, 2, OTHER_ROWS, D): y and y'
  float* of_rows;  // (STAGES, 2, OTHER_ROWS): what weights are divided by, in log2, and D

  explicit __device__ Memory(bf16* memory)
      : x(memory),
        x2(x + Tile::OWN),
        tiles(x2 + Tile::OWN),
        of_rows(reinterpret_cast<float*>(tiles + 2 * Tile::STAGES * Tile::OTHER)) {}
  __device__ bf16* y(int n) const { return tiles + n % Tile::STAGES * 2 * Tile::OTHER; }
  __device__ bf16* y2(int n) const { return y(n) + Tile::OTHER; }
  __device__ float* sums(int n) const { return of_rows + n % Tile::STAGES * 2 * OTHER_ROWS; }
};

/// Calls compute(n) for tiles 0 … count − 1, each of which begin_copy(n) has brought. With two
/// stages the next tile comes meanwhile.
template <class Tile, class Begin, class Compute>
__device__ void for_each_tile(int count, const Begin& begin_copy, const Compute& compute) {
  const auto begin = [&](int n) {
    if (n < count) begin_copy(n);
    __pipeline_commit();
  };
  begin(0);
  for (int n = 0; n < count; ++n) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile n has come, and nobody reads the other stage any more
    if (Tile::STAGES == 2) begin(n + 1);
    compute(n);
    if (Tile::STAGES == 1) {
      __syncthreads();
      begin(n + 1);
    }
  }
}

/// Pᵀ (16 keys, 64 queries): −∞ where the query may not see the key. The keys begin at j0, the
/// queries at i0.
__device__ void hide_unseen(float (&S)[OTHER_ROWS / 8][4], const Attention& shape, int64_t i0,
                            int64_t j0) {
  const int key = threadIdx.x % WARP / 4, query = threadIdx.x % 4 * 2;
  const int64_t edge = i0 + shape.Tk - shape.Tq - j0;  // key 0 … edge + query is seen
  if (edge >= 16) return;
  const int seen = static_cast<int>(edge < -OTHER_ROWS ? -OTHER_ROWS : edge);
#pragma unroll
  for (int n = 0; n < OTHER_ROWS / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (key + e / 2 * 8 > seen + 8 * n + query + e % 2) S[n][e] = -INFINITY;
}

/// Stores a warp's 16 rows, times `factor`; `rows_there` are in the tensor.
template <int D>
__device__ void store_sums(bf16* to, const Rows16<D>& rows, float factor, int64_t rows_there,
                           int HS) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (g + 8 * h >= rows_there) continue;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      if (n * 8 >= HS) break;
      *reinterpret_cast<uint32_t*>(&to[(g + 8 * h) * HS + n * 8 + 2 * t]) =
          pack<bf16>(factor * rows.O[n][2 * h], factor * rows.O[n][2 * h + 1]);
    }
  }
}

/// What a kernel is given.
struct Operands : Tensors {
  const float* D;
};

template <class Tile>
__global__ void __launch_bounds__(THREADS, 1)
    keys_kernel(Attention shape, float scale, float factor, Operands at) {
  constexpr int D = Tile::D;
  extern __shared__ __align__(16) bf16 shared[];
  const Memory<Tile> memory(shared);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int HS = static_cast<int>(shape.HS), t = threadIdx.x % 4;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * OWN_ROWS;
  const QueryTiles<Tile> queries(shape, kv_head, j0);

  const auto begin_copy = [&](int n) {
    const int64_t i0 = queries.i0(n), row = queries.head(n) * Tq + i0;
    copy_rows<Tile, OTHER_ROWS, THREADS>(memory.y(n), at.q + row * HS, Tq - i0, HS);
    copy_rows<Tile, OTHER_ROWS, THREADS>(memory.y2(n), at.dout + row * HS, Tq - i0, HS);
    const int i = threadIdx.x;
    if (i >= OTHER_ROWS) return;
    memory.sums(n)[i] = i0 + i < Tq ? log2_of_sum(at.lse[row + i]) : INFINITY;
    memory.sums(n)[OTHER_ROWS + i] = i0 + i < Tq ? at.D[row + i] : 0.0f;
  };

  const int64_t first = kv_head * Tk + j0;
  copy_rows<Tile, OWN_ROWS, THREADS>(memory.x, at.k + first * HS, Tk - j0, HS);
  copy_rows<Tile, OWN_ROWS, THREADS>(memory.x2, at.v + first * HS, Tk - j0, HS);
  const int warp_row = threadIdx.x / WARP * 16;
  Rows16<D> dk[1], dv[1];
  for_each_tile<Tile>(queries.count, begin_copy, [&](int n) {
    const float* const log2_sums = memory.sums(n);
    float P[1][OTHER_ROWS / 8][4] = {}, dS[1][OTHER_ROWS / 8][4] = {};
    multiply_keys<Tile>(P, memory.x + warp_row * D, memory.y(n));
    if (shape.causal) hide_unseen(P[0], shape, queries.i0(n), j0 + warp_row);
#pragma unroll
    for (int i = 0; i < OTHER_ROWS / 8; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        P[0][i][e] = exp2_approx(fmaf(P[0][i][e], scale, -log2_sums[8 * i + 2 * t + e % 2]));
    multiply_values<Tile>(dv, P, memory.y2(n));
    multiply_keys<Tile>(dS, memory.x2 + warp_row * D, memory.y2(n));
#pragma unroll
    for (int i = 0; i < OTHER_ROWS / 8; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        dS[0][i][e] = P[0][i][e] * (dS[0][i][e] - log2_sums[OTHER_ROWS + 8 * i + 2 * t + e % 2]);
    multiply_values<Tile>(dk, dS, memory.y(n));
  });
  const int64_t there = Tk - j0 - warp_row;
  store_sums(at.dk + (first + warp_row) * HS, dk[0], factor, there, HS);
  store_sums(at.dv + (first + warp_row) * HS, dv[0], 1, there, HS);
}

template <class Tile>
__global__ void __launch_bounds__(THREADS, 1)
    queries_kernel(Attention shape, float scale, float factor, Operands at) {
  constexpr int D = Tile::D;
  extern __shared__ __align__(16) bf16 shared[];
  const Memory<Tile> memory(shared);
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  const int HS = static_cast<int>(shape.HS);
  const BlockOf block(shape, OWN_ROWS);
  const int64_t row0 = block.head * Tq + block.i0;
  const int64_t last = block.i0 + OWN_ROWS < Tq ? block.i0 + OWN_ROWS : Tq;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(last - 1), OTHER_ROWS));

  const auto begin_copy = [&](int n) {
    const int64_t key = int64_t{n} * OTHER_ROWS, from = (block.kv_head * Tk + key) * HS;
    copy_rows<Tile, OTHER_ROWS, THREADS>(memory.y(n), at.k + from, Tk - key, HS);
    copy_rows<Tile, OTHER_ROWS, THREADS>(memory.y2(n), at.v + from, Tk - key, HS);
  };

  copy_rows<Tile, OWN_ROWS, THREADS>(memory.x, at.q + row0 * HS, Tq - block.i0, HS);
  copy_rows<Tile, OWN_ROWS, THREADS>(memory.x2, at.dout + row0 * HS, Tq - block.i0, HS);
  const int warp_row = threadIdx.x / WARP * 16;
  const int64_t first = block.i0 + warp_row;
  const int whole = static_cast<int>(shape.visible_keys(first) / OTHER_ROWS);
  float log2_sum[2], D_of_row[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t i = first + threadIdx.x % WARP / 4 + 8 * h;
    log2_sum[h] = i < Tq ? log2_of_sum(at.lse[block.head * Tq + i]) : INFINITY;
    D_of_row[h] = i < Tq ? at.D[block.head * Tq + i] : 0.0f;
  }
  Rows16<D> dq[1];
  for_each_tile<Tile>(tiles, begin_copy, [&](int n) {
    float P[1][OTHER_ROWS / 8][4] = {}, dS[1][OTHER_ROWS / 8][4] = {};
    multiply_keys<Tile>(P, memory.x + warp_row * D, memory.y(n));
    multiply_keys<Tile>(dS, memory.x2 + warp_row * D, memory.y2(n));
    if (n >= whole) hide_masked(P[0], shape, first, int64_t{n} * OTHER_ROWS);
#pragma unroll
    for (int i = 0; i < OTHER_ROWS / 8; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        dS[0][i][e] = exp2_approx(fmaf(P[0][i][e], scale, -log2_sum[e / 2])) *
                      (dS[0][i][e] - D_of_row[e / 2]);
    multiply_values<Tile>(dq, dS, memory.y(n));
  });
  store_sums(at.dq + (row0 + warp_row) * HS, dq[0], factor, Tq - first, HS);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  allow_shared_memory(keys_kernel<Tile>, Tile::BYTES, "head size", shape.HS);
  allow_shared_memory(queries_kernel<Tile>, Tile::BYTES, "head size", shape.HS);
  const unsigned keys = grid_blocks(shape.B * shape.NH_kv * ceil_div(shape.Tk, OWN_ROWS));
  const unsigned queries = query_blocks(shape, OWN_ROWS);
  require_workspace(workspace, workspace_bytes(shape), "seven_products");
  if (shape.HS == 0) return;
  float* const D = workspace.take<float>(shape.rows());
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  const Operands operands{at, D};
  if (keys > 0) {
    keys_kernel<Tile><<<keys, THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands);
    CUDA_CHECK_LAUNCH();
  }
  if (queries > 0) {
    queries_kernel<Tile><<<queries, THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void seven_products(const Attention& shape, const Tensors& at, Workspace workspace,
                    cudaStream_t stream) {
  require_supported(shape, "seven_products", at);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    with_first_that_fits<Swizzled<D, 2>, Swizzled<D, 1>>(
        shared_memory_limit(), [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); });
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
