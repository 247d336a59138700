// Step 3 = step 2 with dq's own kernel: a block keeps s queries, walks over their keys and adds to
// dq, in registers. It computes the pairs again, so none are stored: 7 products, not 5. And as
// nothing reads the pairs that a causal mask hides, both kernels leave out tiles of only these.
//
// FLOP            a head: 14·Tq·Tk·HS (half if causal)
// global memory   beside the tensors lse and D, 4 bytes a row each, where step 2 has ds
// asked for by fused_keys_kernel     loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS·⌈Tk/s⌉ + Tk)) bytes, half
//                                    of Tq's part if causal, stores 8·B·NH_kv·Tk·HS bytes
// asked for by fused_queries_kernel  loads 8·B·NH·(Tq·HS + Tk·HS·⌈Tq/s⌉ + Tq·Tk) bytes, half of
//                                    the last two if causal, stores 4·B·NH·Tq·HS bytes
// shared memory   as step 2
// block           256 threads for s keys, or s queries, of a head
// H200            2.80 ms for B 8, NH 12, T 1024, HS 64 causal
#include "backward/backward_parts.cuh"
#include "backward/launch_backward.hpp"
#include "backward/small_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// dk and dv of a block's keys, over the heads that share them and over their queries.
template <class Tile>
__global__ void __launch_bounds__(THREADS)
    fused_keys_kernel(Attention shape, float scale, float factor, Operands at) {
  extern __shared__ float shared[];
  const SmallTiles<Tile> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * Tile::ROWS;
  const QueryTiles<Tile> queries(shape, kv_head, j0);

  load_rows<Tile, Tile::ROWS>(tile.K, at.k + kv_head * Tk * HS, j0, Tk, HS);
  load_rows<Tile, Tile::ROWS>(tile.V, at.v + kv_head * Tk * HS, j0, Tk, HS);
  float dk[Tile::R][Tile::D_COLS] = {}, dv[Tile::R][Tile::D_COLS] = {};
  for (int n = 0; n < queries.count; ++n) {
    const int64_t head = queries.head(n), i0 = queries.i0(n);
    load_rows<Tile, Tile::COLS>(tile.Q, at.q + head * Tq * HS, i0, Tq, HS);
    load_rows<Tile, Tile::COLS>(tile.dO, at.dout + head * Tq * HS, i0, Tq, HS);
    __syncthreads();
    compute_pairs<true>(tile, shape, scale, at.lse + head * Tq, at.D + head * Tq, i0, j0);
    __syncthreads();
    add_rows(dv, tile.P, tile.dO, Tile::STRIDE);
    add_rows(dk, tile.dS, tile.Q, Tile::STRIDE);
    __syncthreads();
  }
  store_sums<Tile>(at.dk + kv_head * Tk * HS, dk, factor, j0, Tk, HS);
  store_sums<Tile>(at.dv + kv_head * Tk * HS, dv, 1.0f, j0, Tk, HS);
}

/// dq of a block's queries, over their keys.
template <class Tile>
__global__ void __launch_bounds__(THREADS)
    fused_queries_kernel(Attention shape, float scale, float factor, Operands at) {
  extern __shared__ float shared[];
  const SmallTiles<Tile> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Tile::ROWS) - 1 - blockIdx.x / heads) * Tile::ROWS;
  const int64_t keys = shape.visible_keys(i0 + Tile::ROWS < Tq ? i0 + Tile::ROWS - 1 : Tq - 1);

  load_rows<Tile, Tile::ROWS>(tile.Q, at.q + head * Tq * HS, i0, Tq, HS);
  load_rows<Tile, Tile::ROWS>(tile.dO, at.dout + head * Tq * HS, i0, Tq, HS);
  float dq[Tile::R][Tile::D_COLS] = {};
  for (int64_t j0 = 0; j0 < keys; j0 += Tile::COLS) {
    load_rows<Tile, Tile::COLS>(tile.K, at.k + kv_head * Tk * HS, j0, Tk, HS);
    load_rows<Tile, Tile::COLS>(tile.V, at.v + kv_head * Tk * HS, j0, Tk, HS);
    __syncthreads();
    compute_pairs<false>(tile, shape, scale, at.lse + head * Tq, at.D + head * Tq, i0, j0);
    __syncthreads();
    add_rows(dq, tile.dS, tile.K, Tile::STRIDE);
    __syncthreads();
  }
  store_sums<Tile>(at.dq + head * Tq * HS, dq, factor, i0, Tq, HS);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  allow_bytes(fused_keys_kernel<Tile>, Tile::BYTES, "fused");
  allow_bytes(fused_queries_kernel<Tile>, Tile::BYTES, "fused");
  const unsigned keys = key_blocks(shape, Tile::ROWS);
  const unsigned queries = query_blocks(shape, Tile::ROWS);
  if (shape.HS == 0) return;
  require_workspace(workspace, workspace_bytes(shape, fused), "fused");
  float* const D = workspace.take<float>(shape.rows());
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  const Operands operands{at, D};
  if (keys > 0) {
    fused_keys_kernel<Tile><<<keys, THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands);
    CUDA_CHECK_LAUNCH();
  }
  if (queries > 0) {
    fused_queries_kernel<Tile>
        <<<queries, THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void fused(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "fused");
  with_square_sizes(shape.HS, [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); });
}

}  // namespace tutorial::flash_attention::backward
