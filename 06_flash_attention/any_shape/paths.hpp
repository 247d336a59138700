// How steps 3 to 5 cut a problem up, and which problems step 6 gives them: arithmetic on the
// host, so that tests can look at both sides of every rule.
#pragma once

#include <cstdint>

#include "any_shape/any_shape.hpp"

namespace tutorial::flash_attention::any_shape {

/// A part of the keys is a multiple of this: 16 for each of 8 warps.
inline constexpr int64_t STEP_KEYS = 128;

/// Tiles of few rows: of 4, 8, 16 or 32, the least that holds all rows that share keys; of at most
/// 16 if HS > 128, where O takes more registers.
struct RowTiles {
  int64_t rows;   // of a tile
  int64_t count;  // of tiles, in all heads
};

/// Those of own_keys: the queries of a head share keys.
RowTiles tiles_of_heads(const Attention& shape);

/// Those of group_rows and split_keys: so do the queries of all heads of a group.
RowTiles tiles_of_groups(const Attention& shape);

/// The blocks of split_keys.
struct Split : RowTiles {
  int64_t parts;  // of the keys: so many blocks share a tile
  int64_t keys;   // of a part, a multiple of STEP_KEYS
};

/// Parts: as many as take least time, on a device that has two of these blocks a multiprocessor at
/// a time, or one if HS > 128, or if HS > 64 and a tile has at most 8 rows: then memory bounds it,
/// and one block keeps it busy. The fewest of those that take as long. With one part, where blocks
/// find room, tiles have half or a quarter of the rows, down to four: more blocks share them.
Split split_of(const Attention& shape, int64_t multiprocessors);

/// The same on this device.
Split split_here(const Attention& shape);

/// Does split_keys take less time than large_heads? Yes if more than half of the device's threads,
/// or of those of all its blocks, would have no query in blocks of 128 queries.
bool few_queries(const Attention& shape, int64_t multiprocessors);

}  // namespace tutorial::flash_attention::any_shape
