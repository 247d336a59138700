// What steps 3, 7 and 8 choose, by how long each would take: an estimate.
#include <algorithm>
#include <initializer_list>

#include "backward_tensor_cores/launch.hpp"
#include "backward_tensor_cores/sums_in_turn.hpp"
#include "common/kernel/device.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// The tiles that blocks walk over: those of the block with the most, and of all together.
struct Walks {
  int64_t most = 0, all = 0;
  void add(int64_t tiles) {
    most = std::max(most, tiles);
    all += tiles;
  }
};

/// Of a head's blocks of so many keys, each of which walks over tiles of queries.
Walks walks_of_keys(const Attention& shape, int64_t keys, int64_t queries) {
  Walks walks;
  for (int64_t j0 = 0; j0 < shape.Tk; j0 += keys)
    walks.add(std::max<int64_t>(ceil_div(shape.Tq, queries) - shape.first_query(j0) / queries, 0));
  return walks;
}
/// The other way round.
Walks walks_of_queries(const Attention& shape, int64_t queries, int64_t keys) {
  Walks walks;
  for (int64_t end = queries; end < shape.Tq + queries; end += queries)
    walks.add(ceil_div(shape.visible_keys(std::min(end, shape.Tq) - 1), keys));
  return walks;
}

/// Blocks of a kernel: so many; one without tiles takes `start`, and the tiles of the longest one
/// and of all together take so long.
struct Blocks {
  int64_t count;
  double start, most, all;
};

/// How long they take, of which there are some: as long as the longest, or as many rounds of one
/// block a multiprocessor, each of a mean block.
double time_of(std::initializer_list<Blocks> kinds, int multiprocessors) {
  int64_t count = 0;
  double longest = 0, all = 0;
  for (const Blocks& kind : kinds) {
    count += kind.count;
    longest = std::max(longest, kind.start + kind.most);
    all += static_cast<double>(kind.count) * kind.start + kind.all;
  }
  const auto rounds = static_cast<double>(ceil_div(count, multiprocessors));
  return std::max(longest, rounds * all / static_cast<double>(count));
}

/// Blocks of `heads` heads, each with so many rows in blocks of `size`, and each `walks` times
/// over the tiles, which take `tile` each.
Blocks blocks(int64_t heads, int64_t rows, int64_t size, double start, int64_t walks,
              const Walks& tiles, double tile) {
  return {.count = heads * ceil_div(rows, size),
          .start = start,
          .most = tile * static_cast<double>(walks * tiles.most),
          .all = tile * static_cast<double>(heads * walks * tiles.all)};
}

int64_t key_blocks(const Attention& shape) {
  return shape.B * shape.NH_kv * ceil_div(shape.Tk, KEYS);
}

// The numbers below are microseconds, fitted to an H200's times of 180 random shapes. They are off
// by a tenth on average; what is chosen is within one percent of the faster one.

/// Step 3, head sizes up to 128.
double time_by_mma(const Attention& s, int multiprocessors) {
  const double D = s.HS <= 64 ? 64 : s.HS <= 96 ? 96 : 128, start = 1.6 + 0.019 * D;
  const Walks of_keys = walks_of_keys(s, OWN_ROWS, OTHER_ROWS);
  const Walks of_queries = walks_of_queries(s, OWN_ROWS, OTHER_ROWS);
  return 4.7 +
         time_of({blocks(s.B * s.NH_kv, s.Tk, OWN_ROWS, start, s.group(), of_keys, 1.0 + 0.024 * D),
                  blocks(s.B * s.NH, s.Tq, OWN_ROWS, start, 1, of_queries, 0.3 + 0.018 * D)},
                 multiprocessors);
}

// More than DRAM has: much of what is stored is still in the L2 cache when it is read.
constexpr double BYTES_PER_MICROSECOND = 6.7e6;
constexpr double TURN = 1.6;

/// Step 7 with so many sums, where blocks of keys walk over these tiles.
double time_by_wgmma(const Attention& s, const SumCounts& counts, const Walks& tiles,
                     int multiprocessors) {
  const int64_t D = padded_head(s), of_keys = counts.of_keys, count = key_blocks(s) * of_keys;
  const int64_t parts = query_tiles(s) * 2 * PART * (1 + counts.of_queries);
  const int64_t sums = of_keys == 1 ? 0 : count * 2 * KEYS * D * 2;
  const double tile = D == 64 ? 2.9 : 2.6;
  // The last block waits for the turns of those before. In later rounds they have had them by then.
  const bool waits = count <= 2 * multiprocessors;
  const int64_t turns = waits ? ceil_div(ceil_div(s.Tk, KEYS), counts.of_queries) - 1 : 0;
  const int64_t most = ceil_div(s.group(), of_keys) * tiles.most;
  return 5.3 + (of_keys == 1 ? 0 : 2.3) +
         4 * static_cast<double>(parts + sums) / BYTES_PER_MICROSECOND +
         time_of({{.count = count,
                   .start = 8.9,
                   .most = tile * static_cast<double>(most) + TURN * static_cast<double>(turns),
                   .all = tile * static_cast<double>(s.B * s.NH * tiles.all)}},
                 multiprocessors);
}

/// Is there nothing to choose, as there are no pairs, or the shape is invalid?
bool is_nothing(const Attention& shape) {
  return shape.rows() * shape.HS == 0 || shape.NH_kv < 1 || shape.Tk < 1;
}

/// How many sums step 7 has, and how long it takes with them.
struct Best {
  SumCounts counts;
  double time;
};
Best best_counts(const Attention& shape, int multiprocessors) {
  const Walks walks = walks_of_keys(shape, KEYS, query_tile(shape));
  const auto time = [&](const SumCounts& counts) {
    return time_by_wgmma(shape, counts, walks, multiprocessors);
  };
  const int64_t key_tiles = ceil_div(shape.Tk, KEYS);
  Best best = {{}, time({})};
  for (int64_t of_keys = 1; of_keys <= shape.group(); ++of_keys) {
    // So that the turns take little beside a block's own tiles.
    const int64_t tiles = ceil_div(shape.group(), of_keys) * ceil_div(shape.Tq, query_tile(shape));
    const bool few = key_blocks(shape) * of_keys <= 2 * multiprocessors;
    const SumCounts counts = {of_keys,
                              few ? ceil_div(key_tiles, std::max<int64_t>(2, tiles / 4)) : 1};
    if (time(counts) < best.time) best = {counts, time(counts)};
  }
  return best;
}

}  // namespace

SumCounts sum_counts(const Attention& shape, int multiprocessors) {
  return is_nothing(shape) ? SumCounts{} : best_counts(shape, multiprocessors).counts;
}

bool prefers_64_rows(const Attention& s, int multiprocessors) {
  if (is_nothing(s)) return false;
  // By how many products of a tile each kind of blocks has: dq's and dk's three, dv's two.
  const auto time = [&](int rows, double product) {
    const Walks of_keys = walks_of_keys(s, rows, 32), of_queries = walks_of_queries(s, rows, 32);
    return time_of({blocks(s.B * s.NH_kv, s.Tk, rows, 0, s.group(), of_keys, 3 * product),
                    blocks(s.B * s.NH_kv, s.Tk, rows, 0, s.group(), of_keys, 2 * product),
                    blocks(s.B * s.NH, s.Tq, rows, 0, 1, of_queries, 3 * product)},
                   multiprocessors);
  };
  return time(64, 0.8) < time(128, 1);  // half as many rows take 0.8 of the time
}

bool prefers_hopper(const Attention& shape, int multiprocessors) {
  return !is_nothing(shape) &&
         best_counts(shape, multiprocessors).time < time_by_mma(shape, multiprocessors);
}

int64_t sums_bytes(const Attention& shape, const SumCounts& counts) {
  const int64_t tiles = query_tiles(shape), D = padded_head(shape);
  const int64_t keys = key_blocks(shape) * KEYS;
  const int64_t of_keys = counts.of_keys > 1 ? counts.of_keys * keys * 2 * D : 0;
  return Workspace::bytes_of<float>(tiles * 2 * query_tile(shape)) +
         Workspace::bytes_of<float>(counts.of_queries * tiles * 2 * PART) +
         Workspace::bytes_of<unsigned>(counts.of_queries * tiles * 2) +
         Workspace::bytes_of<unsigned long long>(std::min<int64_t>(tiles, 1)) +
         Workspace::bytes_of<float>(of_keys);
}

int64_t workspace_bytes(const Attention& shape) {
  if (shape.HS > 128) return row_dots_bytes(shape);
  const bool hopper = device_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
  return sums_bytes(shape, hopper ? sum_counts(shape, multiprocessors()) : SumCounts());
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
