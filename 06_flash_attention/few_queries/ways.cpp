// Which way a problem goes: how long each would take, by an estimate.
#include <algorithm>
#include <initializer_list>

#include "common/kernel/grid.hpp"
#include "few_queries/few_queries.hpp"

namespace tutorial::flash_attention::few_queries {
namespace {

constexpr double BYTES_PER_MICROSECOND = 4.2e6;

/// Microseconds of a way: of a launch that has nothing to do, of a block besides its keys, of 1000
/// keys times numbers of a head (a tile of 16 rows has less to do than a larger one), and where
/// there are 64 rows, and parts. Fitted to the times of 230 random shapes.
struct Speed {
  double start, block, keys_of_16_rows, keys_of_64_rows, rows_64, parts;
};
constexpr Speed speeds[] = {
    {5.7, 1.8, 0.112, 0.156, 2.9, 0.7},  // Way::clusters
    {4.9, 1.2, 0.118, 0.265, 2.9, 3.0},  // Way::warps_share
    {6.8, 3.0, 0, 0.087, 0, 0},          // Way::hopper
    {6.7, 1.5, 0, 0.187, 0, 0},          // Way::tensor_cores
};

/// The smallest of these sizes that the head size is padded to.
int64_t padded(int64_t HS, std::initializer_list<int64_t> sizes) {
  return *std::find_if(sizes.begin(), sizes.end() - 1, [&](int64_t size) { return HS <= size; });
}

/// How many keys a tile of queries sees, on average.
int64_t keys_of_tile(const Attention& shape) {
  return shape.causal ? std::max<int64_t>(shape.Tk - shape.Tq / 2, 0) : shape.Tk;
}

/// What a way has to do: so many blocks of so many keys, `at_a_time` of them in a round.
struct Work {
  int64_t blocks, at_a_time, keys, D;  // D: the padded head size
  bool in_parts = false;
};

Work work_of_packed(const Attention& shape, const Split& split, int64_t at_a_time) {
  return {.blocks = split.tiles * split.parts,
          .at_a_time = at_a_time,
          .keys = split.parts == 1 ? keys_of_tile(shape) : split.keys,
          .D = padded(shape.HS, {64, 128, 256}),
          .in_parts = split.parts > 1};
}

/// Of parts hopper and tensor_cores, whose tiles have so many queries of one head.
Work work_of_tiles(const Attention& shape, int64_t queries, int64_t D, int multiprocessors) {
  return {.blocks = shape.B * shape.NH * ceil_div(shape.Tq, queries),
          .at_a_time = multiprocessors,
          .keys = keys_of_tile(shape),
          .D = D};
}

Work work_of(const Attention& shape, Way way, int multiprocessors) {
  const int64_t HS = shape.HS;
  switch (way) {
    case Way::clusters: {  // larger ones do not find room side by side on every multiprocessor
      const Split split = split_of(shape, multiprocessors, MOST_OF_CLUSTER);
      return work_of_packed(shape, split,
                            split.parts <= 2 ? multiprocessors : multiprocessors * 6 / 7);
    }
    case Way::warps_share: {
      const int64_t at_a_time = blocks_of_four_warps(shape) * multiprocessors;
      return work_of_packed(shape, split_of(shape, at_a_time), at_a_time);
    }
    case Way::hopper:  // up to 64 numbers of a head, tiles are half as high again
      return work_of_tiles(shape, HS <= 64 ? 192 : 128, padded(HS, {96, 128, 192, 256}),
                           multiprocessors);
    default:
      return work_of_tiles(shape, HS <= 128 ? 128 : 64, padded(HS, {64, 128, 256}),
                           multiprocessors);
  }
}

/// The estimate: blocks come in rounds, and none is faster than its memory.
double microseconds(const Attention& shape, Way way, int multiprocessors) {
  const Speed& speed = speeds[static_cast<int>(way)];
  const Work work = work_of(shape, way, multiprocessors);
  const bool packed = way == Way::clusters || way == Way::warps_share;
  const bool few = packed && rows_of_tile(shape) == 16;
  const double keys = few ? speed.keys_of_16_rows : speed.keys_of_64_rows;
  const double D = static_cast<double>(work.D);
  const double block = speed.block * D / 128 + keys * static_cast<double>(work.keys) * D / 1000;
  const double start =
      speed.start + (packed && !few ? speed.rows_64 : 0) + (work.in_parts ? speed.parts : 0);
  const double rounds = static_cast<double>(ceil_div(work.blocks, work.at_a_time));
  const double bytes = 4.0 * static_cast<double>(shape.B * shape.HS) *
                       static_cast<double>(shape.NH * shape.Tq + shape.NH_kv * shape.Tk);
  return start + std::max(rounds * block, bytes / BYTES_PER_MICROSECOND);
}

}  // namespace

// The one that takes the shortest time, by the estimates above.
Way way_of(const Attention& shape, bool aligned, int capability, int multiprocessors) {
  Way best = Way::tensor_cores;
  if (!aligned) return best;
  double least = microseconds(shape, best, multiprocessors);
  for (Way way : {Way::hopper, Way::clusters, Way::warps_share}) {
    if (capability < 90 && way != Way::warps_share) continue;
    if (capability != 90 && way == Way::hopper) continue;
    const double time = microseconds(shape, way, multiprocessors);
    if (time < least) least = time, best = way;
  }
  return best;
}

}  // namespace tutorial::flash_attention::few_queries
