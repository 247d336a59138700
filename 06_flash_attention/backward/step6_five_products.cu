// Step 6 = step 5 with dq's parts: a block that has ds of its keys in shared memory also multiplies
// it by k, and stores what its keys add to dq. A small kernel adds the parts up, in the keys'
// order. So scores and dp are computed once: 5 products, not 7, for some memory.
//
// FLOP            a head: 10·Tq·Tk·HS (half if causal)
// global memory   a part of dq for each tile of b keys, each as large as dq
// asked for by five_products_kernel  loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS + 1)·⌈Tk/b⌉) bytes, half of
//                                    Tq's part if causal, stores 8·B·NH_kv·Tk·HS +
//                                    4·B·NH·Tq·HS·⌈Tk/b⌉ bytes
// asked for by dq_parts_kernel       loads 4·B·NH·Tq·HS·⌈Tk/b⌉ bytes, half if causal, stores
//                                    4·B·NH·Tq·HS bytes
// shared memory   as step 4; 3 reads of 16 bytes serve 64 FLOP of the fifth product, too
// block           as step 4, for b keys of a head
#include "backward/launch_backward.hpp"
#include "backward/pair_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

constexpr int SUM_THREADS = 256;

/// dk and dv of a block's keys, and their part of dq.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    five_products_kernel(Attention shape, float scale, float factor, Operands at, float* parts,
                         bool aligned) {
  extern __shared__ __align__(16) float shared[];
  const PairTiles<Tile, true> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * Tile::ROWS;
  const int64_t part = j0 / Tile::ROWS;
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
    float dq[Transposed<Tile>::T_COLS][Tile::D_COLS] = {};
    add_transposed<Tile>(dq, tile.W, tile.K);
    store_transposed<Tile>(dq, queries.i0(n), Tq, HS, aligned, [&](int64_t i) {
      return &parts[((part * shape.B * shape.NH + queries.head(n)) * Tq + i) * HS];
    });
  }
  store_key_sums<Tile>(at, dk, dv, factor, kv_head, j0, Tk, HS, aligned);
}

/// dq = factor·Σ parts, in the order of the keys.
__global__ void __launch_bounds__(SUM_THREADS)
    dq_parts_kernel(Attention shape, int keys, int queries, float factor,
                    const float* __restrict__ parts, float* __restrict__ dq) {
  const int64_t elements = shape.rows() * shape.HS;
  const int64_t e = int64_t{blockIdx.x} * SUM_THREADS + threadIdx.x;
  if (e >= elements) return;
  const int64_t tile = e / shape.HS % shape.Tq / queries;
  float sum = 0.0f;
  for (int64_t t = 0; t * keys < shape.Tk; ++t) {
    if (shape.first_query(t * keys) / queries > tile) break;  // there are no more
    sum += parts[t * elements + e];
  }
  dq[e] = factor * sum;
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  allow_bytes(five_products_kernel<Tile>, Tile::BYTES, "five_products");
  const unsigned keys = key_blocks(shape, Tile::ROWS);
  const unsigned sums = grid_blocks(ceil_div(shape.rows() * shape.HS, SUM_THREADS));
  if (shape.HS == 0) return;
  require_workspace(workspace, workspace_bytes(shape, five_products), "five_products");
  float* const D = workspace.take<float>(shape.rows());
  float* const parts = workspace.take<float>(part_floats(shape, tiles_of_keys(shape)));
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  const Operands operands{at, D};
  const bool aligned = rows_begin_aligned(shape, at);
  if (keys > 0) {
    five_products_kernel<Tile><<<keys, Tile::THREADS, Tile::BYTES, stream>>>(
        shape, scale, factor, operands, parts, aligned);
    CUDA_CHECK_LAUNCH();
  }
  if (sums > 0) {
    dq_parts_kernel<<<sums, SUM_THREADS, 0, stream>>>(shape, Tile::ROWS, Tile::COLS, factor, parts,
                                                      at.dq);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void five_products(const Attention& shape, const Tensors& at, Workspace workspace,
                   cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "five_products");
  with_pair_sizes(shape.HS,
                  [&]<class Sizes>() { launch<PairTile<Sizes>>(shape, at, workspace, stream); });
}

}  // namespace tutorial::flash_attention::backward
