// Step 3 = step 2 for any shape: head sizes up to 256, and tensors at any address. Heads larger
// than 128 find no registers for dk and dv at once: some blocks of keys have dk, and others dv,
// each with scores of its own. Rows that cannot be copied 16 bytes at a time come number by number.
// What step 2 takes it does, but for head sizes from 65 to 96: they are padded to 96.
//
// FLOP            as step 1; above a head size of 128 16·HS a pair: S = q·kᵀ is made three times
// global memory   as step 1
// asked for by any_kernel
//                 loads 2·B·NH_kv·Tk·HS·(walks + 1) + 4·B·NH·Tq·(HS + 2)·walks·⌈Tk/own⌉ +
//                 4·B·NH·(Tq·(HS + 8) + Tk·HS·⌈Tq/own⌉) bytes, half of what has ⌈ ⌉ if causal,
//                 stores 4·B·NH_kv·Tk·HS + 2·B·NH·Tq·HS bytes; walks is 2 if HS > 128, else 1
// shared memory   as step 1 or less up to 128; above it 4·D·(own + 2·32) bytes of a block's rows
//                 and two tiles, or 4·D·(64 + 32) where a block may not have so much; D is HS,
//                 padded to 192 or 256. Rows that are copied number by number have one tile
// block           256 threads for own = 128 keys, or queries; 128 threads for own = 64: of heads
//                 above 128, where that is faster by an estimate (rules.cpp), where more does not
//                 fit, and where rows are copied number by number
#include "backward_tensor_cores/tiles.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// dk and dv of a block's keys, or one of them.
template <class Tile, bool DK, bool DV>
__device__ void keys_block(const Memory<Tile>& memory, const Attention& shape, float scale,
                           float factor, const Operands& at, unsigned number) {
  const int64_t Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int HS = static_cast<int>(shape.HS), warp_row = threadIdx.x / WARP * 16;
  const int64_t kv_head = number % heads, j0 = number / heads * Tile::ROWS;
  const QueryTiles<Tile> queries(shape, kv_head, j0);

  const int64_t first = kv_head * Tk + j0;
  begin_rows<Tile, Tile::ROWS>(memory.x, at.k + first * HS, Tk - j0, HS);
  if (DK) begin_rows<Tile, Tile::ROWS>(memory.x2, at.v + first * HS, Tk - j0, HS);
  Rows16<Tile::D> dk[1], dv[1];
  for_each_tile<Tile>(
      queries.count, [&](int n) { copy_queries(memory, shape, at, queries, n); },
      [&](int n) {
        add_tile<Tile, DK, DV>(dk, dv, memory, shape, scale, queries.i0(n), j0 + warp_row, n);
      });
  const int64_t there = Tk - j0 - warp_row, to = (first + warp_row) * HS;
  if (DK) store_sums<Tile::ALIGNED>(at.dk + to, dk[0], factor, there, HS);
  if (DV) store_sums<Tile::ALIGNED>(at.dv + to, dv[0], 1, there, HS);
}

/// dq of a block's queries.
template <class Tile>
__device__ void queries_block(const Memory<Tile>& memory, const Attention& shape, float scale,
                              float factor, const Operands& at) {
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  const int HS = static_cast<int>(shape.HS);
  const BlockOf block(shape, Tile::ROWS);
  const int64_t row0 = block.head * Tq + block.i0;
  const int64_t last = block.i0 + Tile::ROWS < Tq ? block.i0 + Tile::ROWS : Tq;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(last - 1), Tile::COLS));

  const auto begin_copy = [&](int n) {
    const int64_t key = int64_t{n} * Tile::COLS, from = (block.kv_head * Tk + key) * HS;
    begin_rows<Tile, Tile::COLS>(memory.y(n), at.k + from, Tk - key, HS);
    begin_rows<Tile, Tile::COLS>(memory.y2(n), at.v + from, Tk - key, HS);
  };

  begin_rows<Tile, Tile::ROWS>(memory.x, at.q + row0 * HS, Tq - block.i0, HS);
  begin_rows<Tile, Tile::ROWS>(memory.x2, at.dout + row0 * HS, Tq - block.i0, HS);
  const int warp_row = threadIdx.x / WARP * 16;
  const int64_t first = block.i0 + warp_row;
  const int whole = static_cast<int>(shape.visible_keys(first) / Tile::COLS);
  const QueryPair of(shape, at, block.head, first);
  Rows16<Tile::D> dq[1];
  for_each_tile<Tile>(tiles, begin_copy,
                      [&](int n) { add_keys(dq, memory, shape, scale, of, first, whole, n); });
  store_sums<Tile::ALIGNED>(at.dq + (row0 + warp_row) * HS, dq[0], factor, Tq - first, HS);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    any_kernel(Attention shape, float scale, float factor, Operands at, unsigned of_queries) {
  extern __shared__ __align__(16) bf16 shared[];
  const Memory<Tile> memory(shared);
  if (blockIdx.x < of_queries) return queries_block(memory, shape, scale, factor, at);
  const unsigned number = blockIdx.x - of_queries, half = (gridDim.x - of_queries) / 2;
  if constexpr (Tile::D <= 128)
    keys_block<Tile, true, true>(memory, shape, scale, factor, at, number);
  else if (number < half)
    keys_block<Tile, true, false>(memory, shape, scale, factor, at, number);
  else
    keys_block<Tile, false, true>(memory, shape, scale, factor, at, number - half);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  const auto kernel = any_kernel<Tile>;
  allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
  const unsigned queries = query_blocks(shape, Tile::ROWS);
  const int64_t keys = shape.B * shape.NH_kv * ceil_div(shape.Tk, Tile::ROWS);
  const unsigned blocks = grid_blocks(queries + (Tile::D <= 128 ? keys : 2 * keys));
  require_workspace(workspace, row_dots_bytes(shape), "any_shape");
  if (blocks == 0 || shape.HS == 0) return;
  float* const D = workspace.take<float>(shape.rows());
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  kernel<<<blocks, Tile::THREADS, Tile::BYTES, stream>>>(shape, scale, factor, {at, D}, queries);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void any_shape(const Attention& shape, const Tensors& at, Workspace workspace,
               cudaStream_t stream) {
  require_head_size(shape, "any_shape", LARGEST_HEAD_SIZE);
  const int64_t HS = shape.HS;
  if (!rows_are_aligned(shape, at)) {
    // Their copies end before anything is multiplied: a second stage would be of no use.
    if (HS <= 64) return launch<Tiles<64, 128, 32, 1, false>>(shape, at, workspace, stream);
    if (HS <= 128) return launch<Tiles<128, 128, 32, 1, false>>(shape, at, workspace, stream);
    return launch<Tiles<256, 64, 32, 1, false>>(shape, at, workspace, stream);
  }
  if (HS <= 64 || (HS > 96 && HS <= 128)) return one_launch(shape, at, workspace, stream);
  if (HS <= 96) return launch<Tiles<96, 128, 64, 2>>(shape, at, workspace, stream);
  const bool few = prefers_64_rows(shape, multiprocessors());
  tensor_cores::with_padded_head_size<192, 256>(HS, [&]<int D>() {
    using Large = Tiles<D, 128, 32, 2>;
    using Small = Tiles<D, 64, 32, 2>;
    const auto launch_with = [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); };
    const int64_t most = shared_memory_limit();
    if (few)
      with_first_that_fits<Small, Tiles<D, 64, 32, 1>>(most, launch_with);
    else
      with_first_that_fits<Large, Small, Tiles<D, 64, 32, 1>>(most, launch_with);
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
