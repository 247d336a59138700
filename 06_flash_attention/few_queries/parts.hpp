// Which rows and keys a block has: a tile of rows, and of keys that several blocks share a part.
// What each has for a row is O, not divided by l yet, the maximum m and the sum l.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kernel/grid.hpp"
#include "few_queries/few_queries.hpp"

namespace tutorial::flash_attention::few_queries {

/// A tile's rows: those from `row` on, of the group()·Tq that look at the keys of `head`. They lie
/// one after another in q and out, head by head, so row r has query r % Tq.
struct RowTile {
  int64_t head, row;
  int64_t first;        // row `row` of the head, among the rows of all
  int count;            // how many there are
  int64_t whole, seen;  // all of them see the first `whole` keys, none sees more than `seen`

  __host__ __device__ RowTile(const Attention& shape, int64_t of_tile, int64_t tile) {
    const int64_t of_head = shape.group() * shape.Tq, tiles = ceil_div(of_head, of_tile);
    head = tile / tiles;
    row = tile % tiles * of_tile;
    first = head * of_head + row;
    count = static_cast<int>(of_head - row < of_tile ? of_head - row : of_tile);
    // Rows of two heads are the last query of one and the first of the next, too.
    const int64_t query = row % shape.Tq, last = query + count - 1;
    whole = shape.visible_keys(last < shape.Tq ? query : 0);
    seen = shape.visible_keys(last < shape.Tq ? last : shape.Tq - 1);
  }
};

/// Where the sums of `count` parts go, in the workspace: out is (count, B·NH·Tq, HS), m and l are
/// (count, B·NH·Tq). Of one part out and lse are all, and these are nullptr.
struct Parts {
  int64_t count, keys;  // keys of each
  float *out = nullptr, *m = nullptr, *l = nullptr;
};

/// Throws Error where the workspace is too small.
Parts parts_in(const Attention& shape, const Split& split, Workspace workspace, const char* step);

/// out and lse of all parts, always added up in the same order: the same bits every time. Step 2
/// has it.
void merge_parts(const Attention& shape, const Parts& parts, bf16* out, float* lse,
                 cudaStream_t stream);

}  // namespace tutorial::flash_attention::few_queries
