// How step 10 cuts a problem up, and which problems step 11 gives it: arithmetic on the host, so
// that tests can look at both sides of every rule.
#pragma once

#include <cstdint>

#include "06_flash_attention.hpp"

namespace tutorial::flash_attention {

/// A part of the keys is a multiple of this: 16 for each of 8 warps.
inline constexpr int64_t STEP_KEYS = 128;

/// The blocks of split_keys.
struct Split {
  int64_t rows;   // of a tile, of the group·Tq that share keys
  int64_t tiles;  // of rows, in all heads
  int64_t parts;  // of the keys: so many blocks share a tile
  int64_t keys;   // of a part, a multiple of STEP_KEYS
};

/// Rows of a tile: 4, 8, 16 or 32, the least that holds a group's; at most 16 if HS > 128, where O
/// takes more registers.
///
/// Parts: as many as take least time, on a device that has two of these blocks a multiprocessor at
/// a time, or one if HS > 128, or if HS > 64 and a tile has at most 8 rows: then memory bounds it,
/// and one block keeps it busy. The fewest of those that take as long.
Split split_of(const Attention& shape, int64_t multiprocessors);

/// The same on this device.
Split split_here(const Attention& shape);

/// Does split_keys take less time than head_sizes? Yes if more than half of the device's threads,
/// or of those of all its blocks, would have no query in blocks of 128 queries.
bool few_queries(const Attention& shape, int64_t multiprocessors);

}  // namespace tutorial::flash_attention
