// The rules: how rows make tiles, and in how many parts keys are cut.
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
