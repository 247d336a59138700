// Step 4 = step 3 with dq's parts: a block that has ds of its keys in shared memory also multiplies
// it by k, and stores what its keys add to dq. A small kernel adds the parts up, in the keys'
// order. So scores and dp are computed once: 5 products, not 7, for some memory.
//
// FLOP            a head: 10·Tq·Tk·HS (half if causal)
// global memory   the parts: of so many tiles of b keys at a time as keep the GPU busy, each as
//                 large as dq (backward.hpp). The formulas are for all keys at a time
// asked for by five_products_kernel  loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS + 1)·⌈Tk/b⌉) bytes, half of
//                                    Tq's part if causal, stores 8·B·NH_kv·Tk·HS +
//                                    4·B·NH·Tq·HS·⌈Tk/b⌉ bytes
// asked for by dq_parts_kernel       loads 4·B·NH·Tq·HS·⌈Tk/b⌉ bytes, half if causal, stores
//                                    4·B·NH·Tq·HS bytes
// shared memory   as step 3; 3 reads of 16 bytes serve 64 FLOP of the fifth product, too
// block           as step 3, for b keys of a head
// H200            1.06 ms for B 8, NH 12, T 1024, HS 64 causal
#include <algorithm>

#include "backward/launch_backward.hpp"
#include "backward/pair_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

constexpr int SUM_THREADS = 256;

/// Which columns of W, and so rows of Wᵀ, a thread has. Where there are more ty than tx, several
/// share the C that lie side by side for one tx: each has T_COLS of them.
template <class Tile>
struct Transposed {
  static constexpr int SHARE = Tile::TY / Tile::TX, T_COLS = Tile::C / SHARE;
  static __device__ int ty() { return Tile::ty() / SHARE; }
  // Not % 1: nvcc orders the kernel's other instructions by it, and those of the largest tile are
  // what was measured.
  static __device__ int first() { return SHARE == 1 ? 0 : Tile::ty() % SHARE * T_COLS; }
};

/// sums = Wᵀ·rows, (COLS, ROWS) by (ROWS, D), as a sum of outer products: a row of W by a row of
/// `rows`.
template <class Tile, int T_COLS>
__device__ void add_transposed(float (&sums)[T_COLS][Tile::D_COLS], const float* W,
                               const float* rows) {
  using Own = Transposed<Tile>;
  float a[2][T_COLS], b[2][Tile::D_COLS];
  const auto read = [&](int which, int x) {
#pragma unroll
    for (int c = 0; c < T_COLS; c += T_COLS % 4 == 0 ? 4 : 1) {
      const int column = quad_column<Tile::TX>(Own::ty(), Own::first() + c);
      if constexpr (T_COLS % 4 == 0)
        load4(&a[which][c], &W[x * Tile::W_STRIDE + column]);
      else
        a[which][c] = W[x * Tile::W_STRIDE + column];
    }
#pragma unroll
    for (int d = 0; d < Tile::D_COLS; d += 4)
      load4(&b[which][d], &rows[x * Tile::STRIDE + quad_column<Tile::TX>(Tile::tx(), d)]);
  };
  read(0, 0);
#pragma unroll 8
  for (int x = 0; x < Tile::ROWS; ++x) {
    read((x + 1) % 2, (x + 1) % Tile::ROWS);
#pragma unroll
    for (int r = 0; r < T_COLS; ++r)
#pragma unroll
      for (int n = 0; n < Tile::D_COLS; ++n) {
        const int d = r % 2 == 0 ? n : Tile::D_COLS - 1 - n;
        sums[r][d] += a[x % 2][r] * b[x % 2][d];
      }
  }
}

/// dk and dv of a block's keys, and their part of dq: of the tiles of keys from `first_tile` on.
template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    five_products_kernel(Attention shape, float scale, float factor, Operands at, float* parts,
                         int64_t first_tile, bool aligned) {
  using Own = Transposed<Tile>;
  constexpr int ROWS = Tile::ROWS, COLS = Tile::COLS;
  extern __shared__ __align__(16) float shared[];
  const PairTiles<Tile> tile(shared);

  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int64_t kv_head = blockIdx.x % heads, part = blockIdx.x / heads;
  const int64_t j0 = (first_tile + part) * ROWS;
  const int first = static_cast<int>(shape.first_query(j0) / COLS);
  const int end = static_cast<int>(ceil_div(Tq, COLS)), tiles = end > first ? end - first : 0;
  const int all = static_cast<int>(shape.group()) * tiles;
  const auto i0 = [&](int n) { return int64_t{first + n % tiles} * COLS; };
  const auto head = [&](int n) { return kv_head * shape.group() + n / tiles; };
  const auto fetch_q = [&](int n) {
    if (n >= all) return;
    fetch_rows<Tile, COLS>(tile.cols_a, at.q + head(n) * Tq * HS, i0(n), Tq, HS, aligned);
  };
  const auto fetch_dout = [&](int n) {
    if (n >= all) return;
    fetch_rows<Tile, COLS>(tile.cols_b, at.dout + head(n) * Tq * HS, i0(n), Tq, HS, aligned);
    load_query_sums<Tile, COLS>(tile, at.lse + head(n) * Tq, at.D + head(n) * Tq, i0(n), Tq);
  };

  fetch_rows<Tile, ROWS>(tile.rows_a, at.k + kv_head * Tk * HS, j0, Tk, HS, aligned);
  fetch_rows<Tile, ROWS>(tile.rows_b, at.v + kv_head * Tk * HS, j0, Tk, HS, aligned);
  fetch_q(0);
  fetch_dout(0);
  const bool live = j0 + Tile::warp_row() < Tk;  // else this warp has no keys
  float dk[Tile::R][Tile::D_COLS] = {}, dv[Tile::R][Tile::D_COLS] = {};
  for (int n = 0; n < all; ++n) {
    finish_fetch();
    float X[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(X, tile.rows_a, tile.cols_a);
    hide_masked<Tile, true>(X, shape, i0(n), j0);
    store_weights<Tile, true>(tile, X, scale);
    __syncwarp();  // a warp's rows of W are its own
    if (live) add_weighted<Tile>(dv, tile.W, tile.cols_b);
    float dp[Tile::R][Tile::C] = {};
    if (live) add_dots<Tile>(dp, tile.rows_b, tile.cols_b);
    __syncwarp();
    store_weight_gradients<Tile, true>(tile, dp);
    __syncthreads();
    fetch_dout(n + 1);
    if (live) add_weighted<Tile>(dk, tile.W, tile.cols_a);
    __syncthreads();
    fetch_q(n + 1);
    float dq[Own::T_COLS][Tile::D_COLS] = {};
    add_transposed<Tile>(dq, tile.W, tile.rows_a);
#pragma unroll
    for (int c = 0; c < Own::T_COLS; ++c) {
      const int64_t i = i0(n) + Own::ty() + Tile::TX * (Own::first() + c);
      if (i < Tq)
        store_sums<Tile>(&parts[((part * shape.B * shape.NH + head(n)) * Tq + i) * HS], dq[c], 1.0f,
                         HS, aligned);
    }
  }

#pragma unroll
  for (int r = 0; r < Tile::R; ++r) {
    const int64_t j = j0 + Tile::row(r), place = (kv_head * Tk + j) * HS;
    if (j >= Tk) continue;
    store_sums<Tile>(&at.dk[place], dk[r], factor, HS, aligned);
    store_sums<Tile>(&at.dv[place], dv[r], 1.0f, HS, aligned);
  }
}

/// dq = factor·Σ parts, or more of it where these tiles of keys are not the first.
__global__ void __launch_bounds__(SUM_THREADS)
    dq_parts_kernel(Attention shape, int keys, int queries, float factor,
                    const float* __restrict__ parts, float* __restrict__ dq, int64_t first_tile,
                    int64_t count) {
  const int64_t elements = shape.rows() * shape.HS;
  const int64_t e = int64_t{blockIdx.x} * SUM_THREADS + threadIdx.x;
  if (e >= elements) return;
  const int64_t tile = e / shape.HS % shape.Tq / queries;
  float sum = 0.0f;
  for (int64_t t = 0; t < count; ++t) {
    if (shape.first_query((first_tile + t) * keys) / queries > tile) break;  // there are no more
    sum += parts[t * elements + e];
  }
  dq[e] = (first_tile > 0 ? dq[e] : 0.0f) + factor * sum;
}

}  // namespace

void five_products(const Attention& shape, const Tensors& at, Workspace workspace,
                   cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "five_products");
  with_pair_sizes(shape.HS, [&]<class Sizes>() {
    using Tile = PairTile<Sizes>;
    allow_bytes(five_products_kernel<Tile>, Tile::BYTES, "five_products");
    const int64_t heads = shape.B * shape.NH_kv, tiles = ceil_div(shape.Tk, Tile::ROWS);
    const int64_t elements = shape.rows() * shape.HS, at_a_time = tiles_at_a_time(shape);
    const unsigned sums = grid_blocks(ceil_div(elements, SUM_THREADS));
    grid_blocks(heads * at_a_time);  // throws if these are too many
    if (shape.HS == 0) return;
    require_workspace(workspace, workspace_bytes(shape, five_products), "five_products");
    float* const D = workspace.take<float>(shape.rows());
    float* const parts = workspace.take<float>(part_floats(shape));
    const float factor = score_scale(shape);
    const bool aligned = rows_begin_aligned(shape, at);
    row_dots(shape, at, D, stream);
    for (int64_t first = 0; first < std::max(tiles, int64_t{1}); first += at_a_time) {
      const int64_t count = std::min(at_a_time, tiles - first);
      if (heads * count > 0) {
        five_products_kernel<Tile>
            <<<grid_blocks(heads * count), Tile::THREADS, Tile::BYTES, stream>>>(
                shape, LOG2_E * factor, factor, Operands{at, D}, parts, first, aligned);
        CUDA_CHECK_LAUNCH();
      }
      if (sums == 0) continue;
      dq_parts_kernel<<<sums, SUM_THREADS, 0, stream>>>(shape, Tile::ROWS, Tile::COLS, factor,
                                                        parts, at.dq, first, count);
      CUDA_CHECK_LAUNCH();
    }
  });
}

}  // namespace tutorial::flash_attention::backward
