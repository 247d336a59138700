// Words of the steps: rows of several heads in one tile, what they see, and copies of rows.
// Products and softmax are part tensor_cores'.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/shared_memory.hpp"
#include "few_queries/few_queries.hpp"
#include "few_queries/parts.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::few_queries {

using tensor_cores::CHUNK, tensor_cores::Rows16;

/// Tiles of ROWS rows, padded to D numbers, and a ring of tiles of Bc keys and values: 32 KB a
/// stage where warps SHARE the keys of a tile, and about 8 KB else. A warp has TALL · 16 rows, and
/// KEYS of a tile's keys.
template <int HEAD_SIZE, int TILE_ROWS, int RING, bool SHARE>
struct PackedTile {
  static constexpr int D = HEAD_SIZE, ROWS = TILE_ROWS, STAGES = RING;
  static constexpr int TALL = ROWS > 16 && D <= 128 ? 2 : 1, ROW_WARPS = ROWS / 16 / TALL;
  static constexpr int Bc = SHARE ? 8192 / D : std::max(2048 / D, 16);
  static constexpr int KEY_WARPS = SHARE ? std::min(4 / ROW_WARPS, Bc / 16) : 1;
  static constexpr int KEYS = Bc / KEY_WARPS, THREADS = ROW_WARPS * KEY_WARPS * WARP;
  static constexpr int STAGE = 2 * Bc * D, BYTES = (ROWS * D + STAGES * STAGE) * sizeof(bf16);
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

/// Calls launch with the tile for a problem, whose head size is at most 256. Where warps share keys
/// the ring has three stages, or two if the device has no room for three.
template <bool SHARE, class Launch>
void with_packed_tile(const Attention& shape, const Launch& launch) {
  const auto with_rows = [&]<int D, int ROWS>() {
    using Tile = PackedTile<D, ROWS, 3, SHARE>;
    with_first_that_fits<Tile, PackedTile<D, ROWS, SHARE ? 2 : 3, SHARE>>(shared_memory_limit(),
                                                                          launch);
  };
  tensor_cores::with_padded_head_size<64, 128, 256>(shape.HS, [&]<int D>() {
    if (rows_of_tile(shape) == 16) return with_rows.template operator()<D, 16>();
    with_rows.template operator()<D, 64>();
  });
}

/// Begins to copy ROWS rows of HS numbers, of which `there` exist. Other rows, and columns from HS
/// on, become zeros: a masked key still meets its value as 0 · v.
template <class Tile, int ROWS>
__device__ void copy_rows(bf16* tile, const bf16* from, int64_t there, int HS) {
  constexpr int CHUNKS = Tile::D / CHUNK, DOWN = Tile::THREADS / CHUNKS;
  static_assert(Tile::THREADS % CHUNKS == 0 && ROWS % DOWN == 0, "a thread stays in its column");
  const int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
  const int rows = chunk * CHUNK < HS ? static_cast<int>(there < ROWS ? there : ROWS) : 0;
  from += row * HS + chunk * CHUNK;
#pragma unroll
  for (int r = 0; r < ROWS; r += DOWN)
    copy_async<CHUNK>(&tile[Tile::place(row + r, chunk)], from + r * HS, row + r < rows);
}

/// −∞ in place of the scores that a row may not see. The 16 rows begin at the head's row `row`, the
/// columns at key `key`.
template <int N>
__device__ void hide_unseen(float (&S)[N][4], const Attention& shape, int64_t row, int64_t key) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t seen = shape.visible_keys((row + g + 8 * h) % shape.Tq) - key;
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (n * 8 + 2 * t + e >= seen) S[n][2 * h + e] = -INFINITY;
  }
}

}  // namespace tutorial::flash_attention::few_queries
