// What stands before a launch: which searches are possible, how they are cut, and the memory.
#include <algorithm>
#include <string>

#include "common/kernel/check.hpp"
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
    if (std::string(name) != step.name || can_do(step, s)) continue;
    if (s.k > 1 && (step.features & MANY) == 0)
      throw Error(std::string(name) + " finds one neighbour: take --neighbours 1, or k_best");
    throw Error(std::string(name) + (s.measure == Measure::product
                                         ? " compares distances: leave --product out"
                                         : " compares products: add --product"));
  }
}

int64_t multiprocessors() {
  int device = 0, count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

Cut cut_of(int64_t M, int64_t N, int64_t multiprocessors) {
  const int64_t strips = ceil_div(M, STRIP), tiles = ceil_div(N, TILE);
  int64_t best_time = INT64_MAX;
  Cut best;
  for (int64_t wanted = 1; wanted <= std::min(tiles, multiprocessors); ++wanted) {
    const int64_t tiles_a_block = ceil_div(tiles, wanted), parts = ceil_div(tiles, tiles_a_block);
    // In tiles: as many blocks after one another as the busiest multiprocessor has.
    const int64_t time = ceil_div(strips * parts, multiprocessors) * tiles_a_block;
    if (time >= best_time) continue;
    best_time = time;
    best = {.points = tiles_a_block * TILE, .parts = parts};
  }
  return best;
}

Cut cut_of(const Search& s) {
  return cut_of(s.M, s.N, multiprocessors());
}

// ---- the workspace

namespace {

struct Sizes {
  int64_t product, keys;
};
Sizes sizes_of(const Search& s, bool with_product) {
  return {.product = with_product ? s.M * (ceil_div(s.N, 4) * 4) : 0,
          .keys = s.M * cut_of(s).parts * (s.k + SPARE)};
}

}  // namespace

Workspace::Workspace(const Search& s, bool with_product)
    : product(sizes_of(s, with_product).product),
      keys(sizes_of(s, with_product).keys),
      norms(s.N),
      about_points(2),
      doubtful(1 + s.M),
      values(s.M * s.k) {}

double Workspace::bytes(const Search& s, bool with_product) {
  const Sizes sizes = sizes_of(s, with_product);
  return 4.0 * sizes.product + 8.0 * sizes.keys + 4.0 * s.N + 8.0 * s.M + 4.0 * s.M * s.k;
}

}  // namespace tutorial::masked_bmm::nearest
