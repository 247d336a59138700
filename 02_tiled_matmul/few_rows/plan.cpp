// The rules: in how many parts K is cut, and which way a product goes.
#include <algorithm>
#include <limits>

#include "common/kernel/device.hpp"
#include "few_rows/few_rows.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

// Measured on an H200, as all numbers here: below that much of K a part's beginning and end cost
// more than it brings.
constexpr int64_t LEAST_DEPTH = 256;
constexpr int64_t MOST_PARTS = 8;  // blocks of a cluster, on any device that has them
constexpr int64_t MOST_OF_THREADS = 16;
constexpr int64_t FEW_FOR_MMA = 16;          // rows: step 4 is as fast as step 5 or faster
constexpr int64_t FEW_FOR_WARPGROUP = 64;    // … step 5 is faster than what takes more rows
constexpr int64_t MOST_FOR_WARPGROUP = 128;  // … that step 5 takes in one tile
constexpr int64_t FEW_FOR_TRANSPOSED = 32;   // … on other GPUs: not measured, an estimate
// The least of K with which TMA and clusters are worth the microsecond that they take to begin.
constexpr int64_t LEAST_DEPTH_OF_TMA = 512;

/// `wanted` parts, if K has so many that are not too short.
int64_t parts_of(const Bf16Product& product, int64_t wanted, int64_t most) {
  return std::max<int64_t>(1, std::min({wanted, most, product.K / LEAST_DEPTH}));
}

int64_t tiles_of(const Bf16Product& product, int64_t rows, int64_t cols) {
  return std::max<int64_t>(1, ceil_div(product.M, rows) * ceil_div(product.N, cols));
}

// ---- How long a product takes, in nanoseconds: for each round of blocks its beginning and end,
// and each 64 of K. Fitted to 1,500 times of 180 shapes, of which half are met within 6 %.

int64_t time_of_larger(const Bf16Product& product, Larger larger, int multiprocessors) {
  // From three blocks on a cluster does not find room wherever as many multiprocessors are free:
  // they must be neighbours.
  const int64_t at_once =
      (larger.parts <= 2 ? multiprocessors : multiprocessors * 85 / 100) / larger.parts;
  const int64_t rounds =
      ceil_div(tiles_of(product, larger.rows, COLS_OF_LARGER), std::max<int64_t>(1, at_once));
  const int64_t rows = rows_of_larger(larger.rows);
  const int64_t stages = ceil_div(ceil_div(product.K, larger.parts), 64);
  return 2100 + rounds * (3700 + 21 * rows + stages * (90 + 2 * rows));
}

int64_t time_of_warpgroups(const Bf16Product& product, int multiprocessors) {
  const int64_t parts = parts_of_warpgroup(product, multiprocessors);
  const int64_t tiles = tiles_of(product, rows_of_warpgroup(product.M), COLS_OF_WARPGROUP);
  const int64_t stages = ceil_div(ceil_div(product.K, parts), 64);
  return 4500 + ceil_div(tiles * parts, multiprocessors) * (3000 + 240 * stages);
}

int64_t time_of_hopper(const Bf16Product& product, int multiprocessors) {
  const int64_t BN = hopper::columns_of_tile(product.M, product.N, multiprocessors);
  const int64_t blocks = BN == 64 ? 1 : 2;  // of a cluster, 128 rows each
  const int64_t rounds =
      ceil_div(tiles_of(product, 128 * blocks, BN), std::max<int64_t>(1, multiprocessors / blocks));
  // Boxes that reach over the end of A are slow.
  const int64_t percent = product.M > 128 && product.M % 128 != 0 ? 115 : 100;
  return 4800 + rounds * (1400 + ceil_div(product.K, 64) * (145 + 2 * BN) * percent / 100);
}

}  // namespace

// At most six blocks a multiprocessor, or one and a half. A warpgroup's are one, or about two
// smaller ones.
int64_t parts_of_threads(const Bf16Product& product, int multiprocessors) {
  const int64_t tiles = tiles_of(product, rows_of_threads(product.M), COLS_OF_THREADS);
  return parts_of(product, 6 * multiprocessors / tiles, MOST_OF_THREADS);
}
int64_t parts_of_mma(const Bf16Product& product, int multiprocessors) {
  const int64_t tiles = tiles_of(product, ROWS_OF_MMA, COLS_OF_MMA);
  return parts_of(product, 3 * multiprocessors / (2 * tiles), MOST_PARTS);
}
int64_t parts_of_warpgroup(const Bf16Product& product, int multiprocessors) {
  const int64_t tiles = tiles_of(product, rows_of_warpgroup(product.M), COLS_OF_WARPGROUP);
  const int64_t wanted = takes_small_rings(product, multiprocessors)
                             ? (2 * multiprocessors + tiles / 2) / tiles
                             : multiprocessors / tiles;
  return parts_of(product, wanted, MOST_PARTS);
}
bool takes_small_rings(const Bf16Product& product, int multiprocessors) {
  const int64_t rows = rows_of_warpgroup(product.M);
  return rows == 32 || (rows == 64 && tiles_of(product, rows, COLS_OF_WARPGROUP) > multiprocessors);
}

// The shares of rows and the parts of K with which the busiest multiprocessor is done first.
Larger larger_tiles_of(const Bf16Product& product, int multiprocessors) {
  const int64_t least = std::max<int64_t>(1, ceil_div(product.M, MOST_ROWS_OF_LARGER));
  Larger best;
  const int64_t most_parts =
      std::min<int64_t>(multiprocessors, parts_of(product, MOST_PARTS, MOST_PARTS));
  int64_t least_time = std::numeric_limits<int64_t>::max();
  for (int64_t shares = least; shares <= 2 * least + 1; ++shares)
    for (int64_t parts = 1; parts <= most_parts; ++parts) {
      const Larger larger = {std::max<int64_t>(1, ceil_div(product.M, shares)), parts};
      const int64_t time = time_of_larger(product, larger, multiprocessors);
      if (time < least_time) least_time = time, best = larger;
    }
  return best;
}

Way way_of(const Bf16Product& product, bool aligned, int capability, int multiprocessors) {
  const int64_t M = product.M, K = product.K;
  if (!aligned) return Way::tensor_cores;
  if (capability < 90) return M <= FEW_FOR_TRANSPOSED ? Way::transposed : Way::tensor_cores;
  const auto are_few = [&](int64_t tiles) { return tiles <= 4 * int64_t{multiprocessors}; };
  if (M <= FEW_FOR_WARPGROUP && K < LEAST_DEPTH_OF_TMA &&
      are_few(tiles_of(product, ROWS_OF_MMA, COLS_OF_MMA)))
    return Way::transposed;
  if (M <= FEW_FOR_MMA) return Way::clusters;
  if (capability != 90) return M <= FEW_FOR_TRANSPOSED ? Way::clusters : Way::tensor_cores;
  if (M <= FEW_FOR_WARPGROUP) return Way::warpgroups;
  if (K < LEAST_DEPTH_OF_TMA && are_few(tiles_of(product, 64, 128))) return Way::tensor_cores;
  const int64_t larger =
      time_of_larger(product, larger_tiles_of(product, multiprocessors), multiprocessors);
  const int64_t hopper = time_of_hopper(product, multiprocessors);
  if (M <= MOST_FOR_WARPGROUP) {
    const int64_t warpgroups = time_of_warpgroups(product, multiprocessors);
    if (warpgroups < std::min(larger, hopper)) return Way::warpgroups;
  }
  return larger < hopper * 95 / 100 ? Way::larger_tiles : Way::hopper;
}

int64_t workspace_bytes(const Bf16Product& product, const bf16* A, const bf16* B) {
  const int64_t parts = std::max(parts_of_threads(product, multiprocessors()),
                                 parts_of_mma(product, multiprocessors()));
  const int64_t of_parts =
      parts > 1 ? Workspace::bytes_of<float>(parts * product.M * product.N) : 0;
  return std::max(tensor_cores::workspace_bytes(product, A, B), of_parts);
}

}  // namespace tutorial::tiled_matmul::few_rows
