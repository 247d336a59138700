#include "any_shape/plan.hpp"

#include <algorithm>

#include "any_shape/parts.hpp"

namespace tutorial::tiled_matmul::any_shape {
namespace {

// Microseconds, and bytes per microsecond, of an H200, fitted to some 1500 runs. On another device
// the choice may not be the best one; the result is right.
constexpr double LAUNCH = 6, ADD_LAUNCH = 3, COPY_LAUNCH = 2.5;
constexpr double MEMORY = 4.3e6, ADD_MEMORY = 20e6, COPY_MEMORY = 3e6;  // parts stay in the L2
constexpr double START = 40;         // elements of K in whose time a block begins and ends
constexpr double NOT_HIDDEN = 0.1;   // of the shorter one of arithmetic and memory
constexpr int64_t LEAST_DEPTH = 64;  // of a part
constexpr int64_t MOST_ROUNDS = 4;   // of blocks on a full device: more parts bring nothing

/// How long `count` blocks of one tile take, all on one multiprocessor.
double time_of_blocks(const TileSpeed& tile, int64_t count, double thousands) {
  const int64_t rounds = count / tile.blocks_per_sm, left = count % tile.blocks_per_sm;
  const auto round = [&](int64_t blocks) {  // a scheduler has every fourth warp
    const double share = static_cast<double>(ceil_div(blocks * tile.warps, 4)) * 4 / tile.warps;
    return blocks == 0 ? 0 : thousands * std::max(tile.alone, share * tile.together);
  };
  return static_cast<double>(rounds) * round(tile.blocks_per_sm) + round(left);
}

/// The busiest multiprocessor decides, or the memory; then what else must be launched.
double estimate(const Plan& plan, int64_t M, int64_t N, int64_t K, bool aligned_b,
                int multiprocessors) {
  const TileSpeed& tile = tiles[plan.tile];
  const double m = M, n = N, k = K, ld = aligned_ld(N), parts = plan.parts;
  const int64_t blocks = ceil_div(M, tile.BM) * ceil_div(N, tile.BN) * plan.parts;
  const double thousands = (depth_of_parts(K, plan.parts, tile.BK) + START) / 1000;
  double us = time_of_blocks(tile, ceil_div(blocks, multiprocessors), thousands);
  if (!aligned_b && !plan.copy_b) us *= tile.unaligned;
  const double memory_us = 4 * (m * k + k * n + m * n) / MEMORY;
  us = LAUNCH + std::max(us, memory_us) + NOT_HIDDEN * std::min(us, memory_us);
  if (plan.parts > 1) us += ADD_LAUNCH + 8 * parts * m * ld / ADD_MEMORY;
  if (plan.copy_b) us += COPY_LAUNCH + 8 * k * n / COPY_MEMORY;
  return us;
}

}  // namespace

Plan best_plan(int64_t M, int64_t N, int64_t K, bool aligned_b, int multiprocessors) {
  Plan best;
  for (int tile = 0; tile < static_cast<int>(std::size(tiles)); ++tile) {
    const auto& [BM, BN, BK, warps, blocks_per_sm, alone, together, unaligned] = tiles[tile];
    const int64_t of_c = ceil_div(M, BM) * ceil_div(N, BN);
    for (int64_t round = 0; round <= MOST_ROUNDS * blocks_per_sm; ++round) {
      // As many parts as give each multiprocessor so many blocks.
      const int64_t most = std::min(round * multiprocessors / of_c, K / LEAST_DEPTH);
      const int64_t parts = most > 1 ? ceil_div(K, depth_of_parts(K, most, BK)) : 1;
      for (bool copy_b : {false, true}) {
        if (copy_b && aligned_b) continue;
        Plan plan = {.tile = tile, .parts = parts, .copy_b = copy_b};
        plan.us = estimate(plan, M, N, K, aligned_b, multiprocessors);
        if (plan.us < best.us) best = plan;
      }
    }
  }
  return best;
}

}  // namespace tutorial::tiled_matmul::any_shape
