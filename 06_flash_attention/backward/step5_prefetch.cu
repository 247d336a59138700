// Step 5 = step 4 + asynchronous copies, 16 bytes at a time if all rows begin at multiples of them.
// The next tile of dout (or v) is fetched while dk (or dq) is summed, which does not read it; then
// that of q (or k), and for it the block waits.
//
// FLOP            as step 3
// global memory   as step 4
// asked for by prefetch_keys_kernel     loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS + 1)·⌈Tk/b⌉) bytes, half
//                                       of Tq's part if causal, stores 8·B·NH_kv·Tk·HS bytes
// asked for by prefetch_queries_kernel  loads 8·B·NH·(Tq·(HS + 1) + Tk·HS·⌈Tq/b⌉) bytes, half of
//                                       Tk's part if causal, stores 4·B·NH·Tq·HS bytes
// shared memory   as step 4
// block           as step 4
#include "backward/launch_backward.hpp"
#include "backward/pair_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// dk and dv of a block's keys, over the heads that share them and over their queries.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    prefetch_keys_kernel(Attention shape, float scale, float factor, Operands at, bool aligned) {
  extern __shared__ __align__(16) float shared[];
  const PairTiles<Tile, true> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * Tile::ROWS;
  const QueryTiles<Tile> queries(shape, kv_head, j0);
  const auto fetch_q = [&](int n) {
    if (n >= queries.count) return;
    const int64_t head = queries.head(n), i0 = queries.i0(n);
    fetch_rows<Tile, Tile::COLS>(tile.Q, at.q + head * Tq * HS, i0, Tq, HS, aligned);
  };
  const auto fetch_dout = [&](int n) {
    if (n >= queries.count) return;
    const int64_t head = queries.head(n), i0 = queries.i0(n);
    fetch_rows<Tile, Tile::COLS>(tile.dO, at.dout + head * Tq * HS, i0, Tq, HS, aligned);
    load_query_sums(tile, at.lse + head * Tq, at.D + head * Tq, i0, Tq);
  };

  fetch_rows<Tile, Tile::ROWS>(tile.K, at.k + kv_head * Tk * HS, j0, Tk, HS, aligned);
  fetch_rows<Tile, Tile::ROWS>(tile.V, at.v + kv_head * Tk * HS, j0, Tk, HS, aligned);
  fetch_q(0);
  fetch_dout(0);
  const bool live = j0 + Tile::warp_row() < Tk;  // else this warp has no keys
  float dk[Tile::R][Tile::D_COLS] = {}, dv[Tile::R][Tile::D_COLS] = {};
  for (int n = 0; n < queries.count; ++n) {
    finish_fetch();
    float dots[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dots, tile.K, tile.Q);
    hide_masked(tile, dots, shape, queries.i0(n), j0);
    store_weights(tile, dots, scale);
    __syncwarp();  // a warp's rows of W are its own
    if (live) add_weighted<Tile>(dv, tile.W, tile.dO);
    float dp[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dp, tile.V, tile.dO);
    __syncwarp();
    store_weight_gradients(tile, dp);
    __syncthreads();  // all have read dO
    fetch_dout(n + 1);
    if (live) add_weighted<Tile>(dk, tile.W, tile.Q);
    __syncthreads();  // and Q
    fetch_q(n + 1);
  }
  store_key_sums<Tile>(at, dk, dv, factor, kv_head, j0, Tk, HS, aligned);
}

/// dq of a block's queries, over their keys.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    prefetch_queries_kernel(Attention shape, float scale, float factor, Operands at, bool aligned) {
  extern __shared__ __align__(16) float shared[];
  const PairTiles<Tile, false> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Tile::ROWS) - 1 - blockIdx.x / heads) * Tile::ROWS;
  const int64_t keys = shape.visible_keys(i0 + Tile::ROWS < Tq ? i0 + Tile::ROWS - 1 : Tq - 1);
  const auto fetch_k = [&](int64_t j0) {
    if (j0 >= keys) return;
    fetch_rows<Tile, Tile::COLS>(tile.K, at.k + kv_head * Tk * HS, j0, Tk, HS, aligned);
  };
  const auto fetch_v = [&](int64_t j0) {
    if (j0 >= keys) return;
    fetch_rows<Tile, Tile::COLS>(tile.V, at.v + kv_head * Tk * HS, j0, Tk, HS, aligned);
  };

  fetch_rows<Tile, Tile::ROWS>(tile.Q, at.q + head * Tq * HS, i0, Tq, HS, aligned);
  fetch_rows<Tile, Tile::ROWS>(tile.dO, at.dout + head * Tq * HS, i0, Tq, HS, aligned);
  fetch_k(0);
  fetch_v(0);
  load_query_sums(tile, at.lse + head * Tq, at.D + head * Tq, i0, Tq);
  const bool live = i0 + Tile::warp_row() < Tq;  // else this warp has no queries
  float dq[Tile::R][Tile::D_COLS] = {};
  for (int64_t j0 = 0; j0 < keys; j0 += Tile::COLS) {
    finish_fetch();
    float dots[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dots, tile.Q, tile.K);
    hide_masked(tile, dots, shape, i0, j0);
    store_weights(tile, dots, scale);
    float dp[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dp, tile.dO, tile.V);
    store_weight_gradients(tile, dp);
    __syncthreads();  // all have read V
    fetch_v(j0 + Tile::COLS);
    if (live) add_weighted<Tile>(dq, tile.W, tile.K);
    __syncthreads();  // and K
    fetch_k(j0 + Tile::COLS);
  }
  store_sums<Tile>(at.dq + head * Tq * HS, dq, factor, i0, Tq, HS, aligned);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  allow_bytes(prefetch_keys_kernel<Tile>, Tile::BYTES, "prefetch");
  allow_bytes(prefetch_queries_kernel<Tile>, Tile::BYTES, "prefetch");
  const unsigned keys = key_blocks(shape, Tile::ROWS);
  const unsigned queries = query_blocks(shape, Tile::ROWS);
  if (shape.HS == 0) return;
  require_workspace(workspace, workspace_bytes(shape, prefetch), "prefetch");
  float* const D = workspace.take<float>(shape.rows());
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  const Operands operands{at, D};
  const bool aligned = rows_begin_aligned(shape, at);
  if (keys > 0) {
    prefetch_keys_kernel<Tile>
        <<<keys, Tile::THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands, aligned);
    CUDA_CHECK_LAUNCH();
  }
  if (queries > 0) {
    prefetch_queries_kernel<Tile>
        <<<queries, Tile::THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands, aligned);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void prefetch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "prefetch");
  with_pair_sizes(shape.HS,
                  [&]<class Sizes>() { launch<PairTile<Sizes>>(shape, at, workspace, stream); });
}

}  // namespace tutorial::flash_attention::backward
