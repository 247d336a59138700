// Step 1: a block has 128 keys, or 128 queries, and walks over tiles of the others.
//
// FLOP            14·HS a pair: seven products, of which S = q·kᵀ and dP = dout·vᵀ are made twice
// global memory   at least 2·(4·B·NH·Tq + 4·B·NH_kv·Tk)·HS bytes, and 4·B·NH·Tq of lse
// asked for by keys_kernel  loads 4·B·(NH_kv·Tk·HS + NH·Tq·(HS + 2)·⌈Tk/128⌉) bytes, half of Tq's
//                           part if causal, stores 4·B·NH_kv·Tk·HS bytes
// asked for by queries_kernel  loads 4·B·NH·(Tq·(HS + 8) + Tk·HS·⌈Tq/128⌉) bytes, half of Tk's part
//                              if causal, stores 2·B·NH·Tq·HS bytes
// shared memory   6·D·128 bytes of a block's rows and a tile, 4/3 of that with two stages of tiles;
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
#include "backward_tensor_cores/tiles.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    keys_kernel(Attention shape, float scale, float factor, Operands at) {
  extern __shared__ __align__(16) bf16 shared[];
  const Memory<Tile> memory(shared);
  const int64_t Tk = shape.Tk, heads = shape.B * shape.NH_kv;
  const int HS = static_cast<int>(shape.HS), warp_row = threadIdx.x / WARP * 16;
  const int64_t kv_head = blockIdx.x % heads, j0 = blockIdx.x / heads * Tile::ROWS;
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

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    queries_kernel(Attention shape, float scale, float factor, Operands at) {
  extern __shared__ __align__(16) bf16 shared[];
  const Memory<Tile> memory(shared);
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
void launch(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  allow_shared_memory(keys_kernel<Tile>, Tile::BYTES, "head size", shape.HS);
  allow_shared_memory(queries_kernel<Tile>, Tile::BYTES, "head size", shape.HS);
  const unsigned keys = grid_blocks(shape.B * shape.NH_kv * ceil_div(shape.Tk, Tile::ROWS));
  const unsigned queries = query_blocks(shape, Tile::ROWS);
  require_workspace(workspace, row_dots_bytes(shape), "seven_products");
  if (shape.HS == 0) return;
  float* const D = workspace.take<float>(shape.rows());
  row_dots(shape, at, D, stream);
  const float factor = score_scale(shape), scale = LOG2_E * factor;
  const Operands operands{at, D};
  if (keys > 0) {
    keys_kernel<Tile><<<keys, Tile::THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands);
    CUDA_CHECK_LAUNCH();
  }
  if (queries > 0) {
    queries_kernel<Tile>
        <<<queries, Tile::THREADS, Tile::BYTES, stream>>>(shape, scale, factor, operands);
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
