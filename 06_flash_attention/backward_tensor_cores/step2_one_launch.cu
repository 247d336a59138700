// Step 2 = step 1 with one kernel: its first blocks have queries, the others keys. Neither needs
// what the other makes. So blocks of one kind fill the multiprocessors that the other kind leaves
// idle, and a small problem waits for one launch less.
//
// FLOP            as step 1
// global memory   as step 1
// asked for by both_kernel
//                 loads 4·B·(NH_kv·Tk·HS + NH·Tq·(HS + 2)·⌈Tk/128⌉) +
//                 4·B·NH·(Tq·(HS + 8) + Tk·HS·⌈Tq/128⌉) bytes, half of what has ⌈ ⌉ if causal,
//                 stores 4·B·NH_kv·Tk·HS + 2·B·NH·Tq·HS bytes
// shared memory   as step 1
// block           as step 1
#include "backward_tensor_cores/tiles.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// dk and dv of a block's keys.
template <class Tile>
__device__ void keys_block(const Memory<Tile>& memory, const Attention& shape, float scale,
                           float factor, const Operands& at, unsigned number) {
  const int64_t Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int HS = static_cast<int>(shape.HS), warp_row = threadIdx.x / WARP * 16;
  const int64_t kv_head = number % heads, j0 = number / heads * Tile::ROWS;
  const QueryTiles<Tile> queries(shape, kv_head, j0);

  const int64_t first = kv_head * Tk + j0;
  begin_rows<Tile, Tile::ROWS>(memory.x, at.k + first * HS, Tk - j0, HS);
  begin_rows<Tile, Tile::ROWS>(memory.x2, at.v + first * HS, Tk - j0, HS);
  Rows16<Tile::D> dk[1], dv[1];
  for_each_tile<Tile>(
      queries.count, [&](int n) { copy_queries(memory, shape, at, queries, n); },
      [&](int n) { add_tile(dk, dv, memory, shape, scale, queries.i0(n), j0 + warp_row, n); });
  const int64_t there = Tk - j0 - warp_row;
  store_sums(at.dk + (first + warp_row) * HS, dk[0], factor, there, HS);
  store_sums(at.dv + (first + warp_row) * HS, dv[0], 1, there, HS);
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
  store_sums(at.dq + (row0 + warp_row) * HS, dq[0], factor, Tq - first, HS);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    both_kernel(Attention shape, float scale, float factor, Operands at, unsigned of_queries) {
  extern __shared__ __align__(16) bf16 shared[];
  const Memory<Tile> memory(shared);
  if (blockIdx.x < of_queries)  // these first: BlockOf counts from the grid's first block on
    queries_block(memory, shape, scale, factor, at);
  else
    keys_block(memory, shape, scale, factor, at, blockIdx.x - of_queries);
}

template <class Tile>
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  const auto kernel = both_kernel<Tile>;
  allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
  const unsigned queries = query_blocks(shape, Tile::ROWS);
  const unsigned blocks =
      grid_blocks(queries + shape.B * shape.NH_kv * ceil_div(shape.Tk, Tile::ROWS));
  require_workspace(workspace, row_dots_bytes(shape), "one_launch");
  if (blocks == 0 || shape.HS == 0) return;
  float* const D = workspace.take<float>(shape.rows());
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  kernel<<<blocks, Tile::THREADS, Tile::BYTES, stream>>>(shape, scale, factor, {at, D}, queries);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void one_launch(const Attention& shape, const Tensors& at, Workspace workspace,
                cudaStream_t stream) {
  require_supported(shape, "one_launch", at);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    with_first_that_fits<Swizzled<D, 2>, Swizzled<D, 1>>(
        shared_memory_limit(), [&]<class Tile>() { launch<Tile>(shape, at, workspace, stream); });
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
