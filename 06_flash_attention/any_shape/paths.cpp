#include "any_shape/paths.hpp"

#include <algorithm>

#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

// What a block does besides takes about as long as so many keys: it reads Q, waits for the first
// keys, and writes its part, which is read again.
constexpr int64_t BESIDES = 256;

constexpr int64_t BLOCK_QUERIES = 128;  // of head_sizes and large_heads
constexpr int64_t LEAST_ROWS = 4;       // of a tile

/// Tiles for so many `heads`, in each of which so many `rows` share keys.
RowTiles row_tiles(int64_t heads, int64_t rows, int64_t HS) {
  int64_t of_tile = HS > 128 ? 16 : 32;
  for (int64_t size : {16, 8, 4})
    if (rows <= size) of_tile = size;
  return {of_tile, heads * ceil_div(rows, of_tile)};
}

}  // namespace

RowTiles tiles_of_heads(const Attention& shape) {
  return row_tiles(shape.B * shape.NH, shape.Tq, shape.HS);
}

RowTiles tiles_of_groups(const Attention& shape) {
  const int64_t rows = shape.NH_kv == 0 ? 0 : shape.group() * shape.Tq;
  return row_tiles(shape.B * shape.NH_kv, rows, shape.HS);
}

Split split_of(const Attention& shape, int64_t multiprocessors) {
  const auto [rows, tiles] = tiles_of_groups(shape);
  const bool one = shape.HS > 128 || (shape.HS > 64 && rows <= 8);
  const int64_t at_a_time = multiprocessors * (one ? 1 : 2);
  Split best = {{rows, tiles}, 1, shape.Tk};
  int64_t least = INT64_MAX;
  for (int64_t parts = 1; parts <= std::max<int64_t>(1, ceil_div(shape.Tk, STEP_KEYS)); ++parts) {
    const int64_t keys = ceil_div(ceil_div(shape.Tk, parts), STEP_KEYS) * STEP_KEYS;
    const int64_t rounds = ceil_div(tiles * parts, at_a_time);
    const int64_t time = rounds * (keys + BESIDES);
    if (time < least) least = time, best.parts = parts, best.keys = keys;
  }
  // With few keys, and room for more blocks, shorter tiles share out the rows.
  while (best.parts == 1 && best.count > 0 && best.rows > LEAST_ROWS) {
    const int64_t shorter =
        shape.B * shape.NH_kv * ceil_div(shape.group() * shape.Tq, best.rows / 2);
    if (shorter > at_a_time) break;
    best.rows /= 2, best.count = shorter;
  }
  return best;
}

Split split_here(const Attention& shape) {
  return split_of(shape, multiprocessors());
}

int64_t workspace_bytes(const Attention& shape) {
  const int64_t parts = split_here(shape).parts, rows = parts * shape.rows();
  if (parts == 1) return 0;
  return Workspace::bytes_of<float>(rows * shape.HS) + 2 * Workspace::bytes_of<float>(rows);
}

bool few_queries(const Attention& shape, int64_t multiprocessors) {
  const int64_t at_a_time = multiprocessors * (shape.HS <= 64 ? 2 : 1);
  const int64_t blocks = shape.B * shape.NH * ceil_div(shape.Tq, BLOCK_QUERIES);
  return shape.rows() > 0 && 2 * shape.rows() < std::max(blocks, at_a_time) * BLOCK_QUERIES;
}

}  // namespace tutorial::flash_attention::any_shape
