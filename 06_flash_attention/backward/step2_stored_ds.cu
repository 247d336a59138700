// Step 2 = step 1 with one kernel for pairs, dk and dv: a block keeps s keys, walks over all
// queries, computes their pairs and adds to dk and dv, in registers. So p stays on the chip, and
// only ds is stored. It keeps step 1's D, and its product for dq.
//
// FLOP            as step 1
// global memory   ds is 4·Tq·Tk bytes a head; written once, and read again for each 32 columns of a
//                 head
// asked for by stored_keys_kernel  loads 8·B·(NH_kv·Tk·HS + NH·Tq·(HS·⌈Tk/s⌉ + Tk)) bytes, half of
//                                  the last if causal, stores 8·B·NH_kv·Tk·HS + 4·B·NH·Tq·Tk bytes
// asked for by dq_from_ds_kernel   loads 4·B·NH·Tk·(Tq·⌈HS/32⌉ + HS·⌈Tq/32⌉) bytes,
//                                  stores 4·B·NH·Tq·HS bytes
// shared memory   41,728 bytes for HS = 64, 74,496 for 128 (35,200 with s = 16); reads as in step 1
// block           256 threads for s keys of a head: s is 32, or 16 if HS > 64 and a block may not
//                 have so much shared memory
#include "backward/backward_parts.cuh"
#include "backward/launch_backward.hpp"
#include "backward/small_tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// dk and dv of a block's keys, over the heads that share them and over their queries; and ds.
template <class Tile>
__global__ void __launch_bounds__(THREADS)
    stored_keys_kernel(Attention shape, float scale, float factor, Operands at,
                       float* __restrict__ ds) {
  extern __shared__ float shared[];
  const SmallTiles<Tile> tile(shared);
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * Tile::ROWS;

  load_rows<Tile, Tile::ROWS>(tile.K, at.k + kv_head * Tk * HS, j0, Tk, HS);
  load_rows<Tile, Tile::ROWS>(tile.V, at.v + kv_head * Tk * HS, j0, Tk, HS);
  float dk[Tile::R][Tile::D_COLS] = {}, dv[Tile::R][Tile::D_COLS] = {};
  for (int64_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head)
    for (int64_t i0 = 0; i0 < Tq; i0 += Tile::COLS) {
      load_rows<Tile, Tile::COLS>(tile.Q, at.q + head * Tq * HS, i0, Tq, HS);
      load_rows<Tile, Tile::COLS>(tile.dO, at.dout + head * Tq * HS, i0, Tq, HS);
      __syncthreads();
      compute_pairs<true>(tile, shape, scale, at.lse + head * Tq, at.D + head * Tq, i0, j0);
      __syncthreads();
      add_rows(dv, tile.P, tile.dO, Tile::STRIDE);
      add_rows(dk, tile.dS, tile.Q, Tile::STRIDE);
      store_pairs(ds + head * Tq * Tk, tile, i0, Tq, j0, Tk);
      __syncthreads();
    }
  store_sums<Tile>(at.dk + kv_head * Tk * HS, dk, factor, j0, Tk, HS);
  store_sums<Tile>(at.dv + kv_head * Tk * HS, dv, 1.0f, j0, Tk, HS);
}

/// dq = factor·ds·k.
__global__ void __launch_bounds__(THREADS)
    dq_from_ds_kernel(Attention shape, const float* __restrict__ ds, const float* __restrict__ k,
                      float* __restrict__ dq, float factor) {
  const Heads heads = {.summed = 1, .sharing = shape.group()};
  sum_products<false>(ds, k, dq, shape.Tq, shape.Tk, shape.HS, heads, factor);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  allow_bytes(stored_keys_kernel<Tile>, Tile::BYTES, "stored_ds");
  const unsigned keys = key_blocks(shape, Tile::ROWS);
  const unsigned queries = square_blocks(shape.B * shape.NH, shape.Tq, shape.HS);
  if (shape.HS == 0) return;
  require_workspace(workspace, workspace_bytes(shape, stored_ds), "stored_ds");
  float* const D = workspace.take<float>(shape.rows());
  float* const ds = workspace.take<float>(pair_floats(shape));
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  if (keys > 0) {
    stored_keys_kernel<Tile>
        <<<keys, THREADS, Tile::BYTES, stream>>>(shape, scale, factor, Operands{at, D}, ds);
    CUDA_CHECK_LAUNCH();
  }
  if (queries > 0) {
    dq_from_ds_kernel<<<queries, THREADS, 0, stream>>>(shape, ds, at.k, at.dq, factor);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void stored_ds(const Attention& shape, const Tensors& at, Workspace workspace,
               cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "stored_ds");
  with_square_sizes(shape.HS, [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); });
}

}  // namespace tutorial::flash_attention::backward
