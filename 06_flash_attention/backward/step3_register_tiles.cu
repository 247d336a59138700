// Step 3 = step 2 + registers: a thread computes 8×8 elements of a tile of pairs, and its part of
// the sums, from reads of 16 bytes. The tiles have 128×128 pairs (96×64 if HS > 64), so that each
// float read serves more products.
//
// FLOP            as step 2
// global memory   as step 2, but a quarter (a third if HS > 64) of what it reads again and again
// asked for by tiled_keys_kernel     loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS + 1)·⌈Tk/b⌉) bytes, half of
//                                    Tq's part if causal, stores 8·B·NH_kv·Tk·HS bytes
// asked for by tiled_queries_kernel  loads 8·B·NH·(Tq·(HS + 1) + Tk·HS·⌈Tq/b⌉) bytes, half of Tk's
//                                    part if causal, stores 4·B·NH·Tq·HS bytes
// shared memory   16 reads of 16 bytes serve 512 FLOP of dot products, 12 serve 256 of the sums
//                 (HS ≤ 64). 214,016 bytes for HS = 64, 200,448 for 128: one block an SM; smaller
//                 tiles where a block may not have so much (tile_sizes.hpp)
// block           256 threads for b keys, or queries, of a head: b is 128, or 96 if HS > 64; fewer
//                 of both where the tile is smaller
// H200            1.38 ms for B 8, NH 12, T 1024, HS 64 causal
#include "backward/launch_backward.hpp"
#include "backward/pair_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// The matrices of a kernel's rows and columns, and the sums of its rows.
struct Sides {
  const float *rows_a, *rows_b, *cols_a, *cols_b;
  float *sum_a, *sum_b;
};

/// What both kernels do with tile `block` of the rows of head `head`: keys (KEYS), or queries.
template <bool KEYS, class Tile>
__device__ void walk(const Attention& shape, float scale, float factor, const Operands& at,
                     const Sides& sides, int64_t head, int64_t block, bool aligned) {
  constexpr int ROWS = Tile::ROWS, COLS = Tile::COLS;
  extern __shared__ __align__(16) float shared[];
  const PairTiles<Tile> tile(shared);

  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, rows = KEYS ? shape.Tk : Tq, cols = KEYS ? Tq : shape.Tk;
  const int64_t row0 = block * ROWS, last_query = row0 + ROWS < Tq ? row0 + ROWS - 1 : Tq - 1;
  const int first = static_cast<int>(KEYS ? shape.first_query(row0) / COLS : 0);
  const int end = static_cast<int>(ceil_div(KEYS ? Tq : shape.visible_keys(last_query), COLS));
  // Over the columns of one head after the other: of all that share a key's, or of a query's own.
  const int tiles = end > first ? end - first : 0;
  const int all = KEYS ? static_cast<int>(shape.group()) * tiles : tiles;
  const auto col0 = [&](int n) { return int64_t{first + n % tiles} * COLS; };
  const auto col_head = [&](int n) {
    return KEYS ? head * shape.group() + n / tiles : head / shape.group();
  };
  const auto fetch_a = [&](int n) {
    if (n >= all) return;
    fetch_rows<Tile, COLS>(tile.cols_a, sides.cols_a + col_head(n) * cols * HS, col0(n), cols, HS,
                           aligned);
  };
  const auto fetch_b = [&](int n) {
    if (n >= all) return;
    fetch_rows<Tile, COLS>(tile.cols_b, sides.cols_b + col_head(n) * cols * HS, col0(n), cols, HS,
                           aligned);
    if (!KEYS && n > 0) return;  // the same queries
    const int64_t sums = (KEYS ? col_head(n) : head) * Tq;
    load_query_sums<Tile, KEYS ? COLS : ROWS>(tile, at.lse + sums, at.D + sums,
                                              KEYS ? col0(n) : row0, Tq);
  };

  fetch_rows<Tile, ROWS>(tile.rows_a, sides.rows_a + head * rows * HS, row0, rows, HS, aligned);
  fetch_rows<Tile, ROWS>(tile.rows_b, sides.rows_b + head * rows * HS, row0, rows, HS, aligned);
  fetch_a(0);
  fetch_b(0);
  const bool live = row0 + Tile::warp_row() < rows;  // else this warp has no rows
  float sum_a[Tile::R][Tile::D_COLS] = {}, sum_b[Tile::R][Tile::D_COLS] = {};
  for (int n = 0; n < all; ++n) {
    finish_fetch();
    float dots[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dots, tile.rows_a, tile.cols_a);
    hide_masked<Tile, KEYS>(dots, shape, KEYS ? col0(n) : row0, KEYS ? row0 : col0(n));
    store_weights<Tile, KEYS>(tile, dots, scale);
    __syncwarp();  // a warp's rows of W are its own
    if (KEYS && live) add_weighted<Tile>(sum_b, tile.W, tile.cols_b);
    float dp[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dp, tile.rows_b, tile.cols_b);
    __syncwarp();
    store_weight_gradients<Tile, KEYS>(tile, dp);
    __syncthreads();  // all have read cols_b
    fetch_b(n + 1);
    if (live) add_weighted<Tile>(sum_a, tile.W, tile.cols_a);
    __syncthreads();  // and cols_a
    fetch_a(n + 1);
  }

#pragma unroll
  for (int r = 0; r < Tile::R; ++r) {
    const int64_t row = row0 + Tile::row(r), place = (head * rows + row) * HS;
    if (row >= rows) continue;
    store_sums<Tile>(&sides.sum_a[place], sum_a[r], factor, HS, aligned);
    if (KEYS) store_sums<Tile>(&sides.sum_b[place], sum_b[r], 1.0f, HS, aligned);
  }
}

// As in the forward pass, the blocks with the most to do start first.

/// dk and dv: the rows are keys.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    tiled_keys_kernel(Attention shape, float scale, float factor, Operands at, bool aligned) {
  const int64_t heads = shape.B * shape.NH_kv;
  walk<true, Tile>(shape, scale, factor, at, {at.k, at.v, at.q, at.dout, at.dk, at.dv},
                   blockIdx.x % heads, blockIdx.x / heads, aligned);
}

/// dq: the rows are queries.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    tiled_queries_kernel(Attention shape, float scale, float factor, Operands at, bool aligned) {
  const int64_t heads = shape.B * shape.NH, blocks = ceil_div(shape.Tq, Tile::ROWS);
  walk<false, Tile>(shape, scale, factor, at, {at.q, at.dout, at.k, at.v, at.dq, nullptr},
                    blockIdx.x % heads, blocks - 1 - blockIdx.x / heads, aligned);
}

}  // namespace

void register_tiles(const Attention& shape, const Tensors& at, Workspace workspace,
                    cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "register_tiles");
  with_pair_sizes(shape.HS, [&]<class Sizes>() {
    using Tile = PairTile<Sizes>;
    allow_bytes(tiled_keys_kernel<Tile>, Tile::BYTES, "register_tiles");
    allow_bytes(tiled_queries_kernel<Tile>, Tile::BYTES, "register_tiles");
    const unsigned keys = key_blocks(shape, Tile::ROWS);
    const unsigned queries = query_blocks(shape, Tile::ROWS);
    if (shape.HS == 0) return;
    require_workspace(workspace, workspace_bytes(shape, register_tiles), "register_tiles");
    float* const D = workspace.take<float>(shape.rows());
    row_dots(shape, at, D, stream);
    const float factor = score_scale(shape), scale = LOG2_E * factor;
    const bool aligned = rows_begin_aligned(shape, at);
    if (keys > 0) {
      tiled_keys_kernel<Tile><<<keys, Tile::THREADS, Tile::BYTES, stream>>>(
          shape, scale, factor, Operands{at, D}, aligned);
      CUDA_CHECK_LAUNCH();
    }
    if (queries > 0) {
      tiled_queries_kernel<Tile><<<queries, Tile::THREADS, Tile::BYTES, stream>>>(
          shape, scale, factor, Operands{at, D}, aligned);
      CUDA_CHECK_LAUNCH();
    }
  });
}

}  // namespace tutorial::flash_attention::backward
