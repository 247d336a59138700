// The rules: how rows make tiles, in how many parts keys are cut, and which way a problem goes.
#include <algorithm>

#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "few_queries/few_queries.hpp"
#include "few_queries/parts.hpp"

namespace tutorial::flash_attention::few_queries {
namespace {

// Measured on an H200, as all numbers here. What a block does besides takes about as long as so
// many keys: its first ones have to come, and its sums have to be merged with others'.
constexpr int64_t BESIDES = 256;
constexpr int64_t MOST_ROUNDS = 4;
constexpr int64_t TILE_QUERIES = 128;  // of parts hopper and tensor_cores
constexpr int64_t MOST_QUERIES = 64;   // that may be few

/// Rows that share a head of k and v.
int64_t rows_of_head(const Attention& shape) {
  return shape.NH_kv == 0 ? 0 : shape.group() * shape.Tq;
}

}  // namespace

int64_t rows_of_tile(const Attention& shape) {
  return rows_of_head(shape) <= 16 ? 16 : 64;
}

// Two where there is much to do for a key, 64 rows, or where a block is two warps, as for 16 rows
// above head size 128. Above it 64 rows leave no room for a second one.
int64_t blocks_of_four_warps(const Attention& shape) {
  return (rows_of_tile(shape) == 64) == (shape.HS <= 128) ? 2 : 1;
}

// As many parts as run in one round of blocks, or in two, three or four, if that takes less time.
Split split_of(const Attention& shape, int64_t blocks_at_a_time, int64_t most) {
  const int64_t tiles = shape.B * shape.NH_kv * ceil_div(rows_of_head(shape), rows_of_tile(shape));
  const int64_t steps = ceil_div(shape.Tk, STEP_KEYS);
  Split best = {.tiles = tiles, .parts = 1, .keys = steps * STEP_KEYS};
  if (tiles == 0 || steps == 0) return best;
  int64_t least = INT64_MAX;
  for (int64_t rounds = 1; rounds <= MOST_ROUNDS; ++rounds) {
    const int64_t wanted =
        std::clamp<int64_t>(rounds * blocks_at_a_time / tiles, 1, std::min(most, steps));
    const int64_t keys = ceil_div(steps, wanted) * STEP_KEYS, parts = ceil_div(shape.Tk, keys);
    const int64_t time = ceil_div(tiles * parts, blocks_at_a_time) * (keys + BESIDES);
    if (time < least) least = time, best.parts = parts, best.keys = keys;
  }
  return best;
}

// A multiprocessor takes about half as long again for a tile of 64 rows as parts hopper and
// tensor_cores for one of 128 queries; but here all multiprocessors have a share of the keys, and
// there they go through the tiles in rounds. And a cluster of more than two blocks does not find a
// multiprocessor for each, where others have nothing.
Way way_of(const Attention& shape, bool aligned, int capability, int multiprocessors) {
  if (!aligned) return Way::tensor_cores;
  const Split split = split_of(shape, multiprocessors);
  const int64_t rounds =
      ceil_div(shape.B * shape.NH * ceil_div(shape.Tq, TILE_QUERIES), multiprocessors);
  const bool few = rows_of_head(shape) <= 64 ||
                   (shape.Tq <= MOST_QUERIES && 3 * split.tiles <= 2 * rounds * multiprocessors);
  if (!few) return capability == 90 ? Way::hopper : Way::tensor_cores;
  const int64_t largest = blocks_of_four_warps(shape) == 1 ? 2 : 1;
  return capability < 90 || split.parts > largest ? Way::warps_share : Way::clusters;
}

int64_t workspace_bytes(const Attention& shape) {
  const int64_t parts =
      std::max(split_of(shape, BLOCKS_OF_WARPS * multiprocessors()).parts,
               split_of(shape, blocks_of_four_warps(shape) * multiprocessors()).parts);
  const int64_t rows = parts * shape.rows();
  return std::max(hopper::workspace_bytes(shape), Workspace::bytes_of<float>(rows * shape.HS) +
                                                      2 * Workspace::bytes_of<float>(rows));
}

Parts parts_in(const Attention& shape, const Split& split, Workspace workspace, const char* step) {
  Parts parts = {.count = split.parts, .keys = split.keys};
  if (parts.count == 1) return parts;
  require_workspace(workspace, workspace_bytes(shape), step);
  const int64_t rows = parts.count * shape.rows();
  parts.out = workspace.take<float>(rows * shape.HS);
  parts.m = workspace.take<float>(rows);
  parts.l = workspace.take<float>(rows);
  return parts;
}

}  // namespace tutorial::flash_attention::few_queries
