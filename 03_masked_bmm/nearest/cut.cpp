// What stands before a launch: which searches are possible, how they are cut, and the memory.
#include <algorithm>
#include <string>
#include <string_view>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

void require_possible(const Search& s) {
  const std::string points = std::to_string(s.N) + (s.N == 1 ? " point" : " points");
  if (s.N > MOST_POINTS)
    throw Error(points + " are too many: the result's float32 counts to " +
                std::to_string(MOST_POINTS) + "; search them in parts");
  if (s.k < 1 || s.k > MOST_NEIGHBOURS)
    throw Error("--neighbours is " + std::to_string(s.k) + "; take 1 to " +
                std::to_string(MOST_NEIGHBOURS));
  if (s.k > s.N)
    throw Error("--neighbours is " + std::to_string(s.k) + " of " + points +
                "; take no more than there are");
}

bool can_do(const Step<Launcher>& step, const Search& s) {
  const unsigned needed =
      (s.measure == Measure::product ? PRODUCT : DISTANCE) | (s.k > 1 ? MANY : 0);
  return (step.features & needed) == needed;
}

void require_can_do(const char* name, const Search& s) {
  require_possible(s);
  for (const auto& step : steps) {
    if (std::string_view(name) != step.name || can_do(step, s)) continue;
    if (s.k > 1 && (step.features & MANY) == 0)
      throw Error(std::string(name) + " finds one neighbour: take --neighbours 1, or k_best");
    throw Error(std::string(name) + (s.measure == Measure::product
                                         ? " compares distances: leave --product out"
                                         : " compares products: add --product"));
  }
}

Cut cut_of(const Search& s, int64_t most_blocks) {
  Cut cut = {.strips = ceil_div(s.M, STRIP),
             .tiles = ceil_div(s.N, TILE),
             .pieces = std::max<int64_t>(1, ceil_div(s.D, DEPTH))};
  cut.blocks = std::min(cut.strips * cut.tiles, most_blocks);
  return cut;
}

Cut cut_of(const Search& s) {
  return cut_of(s, std::min<int64_t>(multiprocessors(), grid_limit.x));
}

bool has_groups_enough(const Search& s) {
  return cut_of(s, 1).groups() >= 2 * s.k;
}

Cut cut_of_fragments(const Search& s) {
  Cut cut = cut_of(s);
  cut.pieces = std::max<int64_t>(1, ceil_div(s.D, 16));
  return cut;
}

int64_t rows_at_once(const Search& s) {
  const int64_t strips = most_minima / std::max<int64_t>(1, cut_of(s, 1).groups() * STRIP);
  return std::max<int64_t>(1, strips) * STRIP;
}

bool has_tensor_cores() {
  return compute_capability() >= 80;
}

int64_t room_of(const Search& s) {
  return 4 * s.k + 64;
}

// A share has `least` tiles or one more. A strip can begin with the last tile of one.
int64_t Cut::parts() const {
  if (blocks == 0) return 1;
  const int64_t least = strips * tiles / blocks;
  return 1 + ceil_div(tiles - 1, least);
}

int64_t Cut::rows_of_shares(int64_t M) const {
  int64_t rows = 0;
  for (int64_t strip = 0; strip < strips; ++strip) {
    const int64_t first = strip * tiles;
    const int64_t sharers = block_of(first + tiles - 1) - block_of(first) + 1;
    rows += sharers * std::min<int64_t>(M - strip * STRIP, STRIP);
  }
  return rows;
}

// ---- the workspace

namespace {

/// Calls place(piece, count) for each piece of scratch in turn: it has `count` elements.
template <class Place>
void place_all(Search s, Launcher* step, Scratch& scratch, const Place& place) {
  const bool with_candidates =
      (step == limits_first || step == tensor_cores) && has_groups_enough(s);
  if (with_candidates) s.M = std::min(s.M, rows_at_once(s));
  const Cut cut = cut_of(s);
  place(scratch.packed, (cut.strips * STRIP + cut.tiles * TILE) * cut.pieces * DEPTH);
  place(scratch.product, step == product_then_minimum ? s.M * ceil_div(s.N, 4) * 4 : 0);
  place(scratch.keys, with_candidates ? 0 : s.M * cut.parts() * (s.k + SPARE));
  place(scratch.norms, s.N);
  place(scratch.about_points, 2);
  place(scratch.doubtful, 1 + s.M);
  if (!with_candidates) return;
  place(scratch.minima, s.M * cut.groups());
  place(scratch.limits, cut.strips * STRIP);
  scratch.candidates.room = static_cast<int>(room_of(s));
  place(scratch.candidates.count, s.M);
  place(scratch.candidates.points, s.M * scratch.candidates.room);
  if (step != tensor_cores) return;
  place(scratch.about_queries, 2);
  place(scratch.fragments,
        (cut.strips * STRIP + cut.tiles * TILE) * 2 * cut_of_fragments(s).pieces);
}

}  // namespace

int64_t workspace_bytes(const Search& s, Launcher* step) {
  int64_t bytes = 0;
  Scratch nowhere = {};
  place_all(s, step, nowhere,
            [&]<class T>(T*&, int64_t count) { bytes += Workspace::bytes_of<T>(count); });
  return bytes;
}

Scratch scratch_in(Workspace workspace, const Search& s, Launcher* step) {
  const auto entry = std::ranges::find(steps, step, &Step<Launcher>::launch);
  require_workspace(workspace, workspace_bytes(s, step), entry->name);
  Scratch scratch = {};
  place_all(s, step, scratch,
            [&]<class T>(T*& piece, int64_t count) { piece = workspace.take<T>(count); });
  return scratch;
}

}  // namespace tutorial::masked_bmm::nearest
