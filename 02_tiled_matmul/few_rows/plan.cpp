// The rules: in how many parts K is cut, and which way a product goes.
#include <algorithm>

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
constexpr int64_t FEW_FOR_WARPGROUP = 64;    // … step 5 is faster than part hopper; and up to …
constexpr int64_t MOST_FOR_WARPGROUP = 128;  // … where all tiles of C run at one time
constexpr int64_t FEW_FOR_TRANSPOSED = 32;   // … on other GPUs: not measured, an estimate

/// `wanted` parts, if K has so many that are not too short.
int64_t parts_of(const Bf16Product& product, int64_t wanted, int64_t most) {
  return std::max<int64_t>(1, std::min({wanted, most, product.K / LEAST_DEPTH}));
}

int64_t tiles_of(const Bf16Product& product, int64_t rows, int64_t cols) {
  return std::max<int64_t>(1, ceil_div(product.M, rows) * ceil_div(product.N, cols));
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

Way way_of(const Bf16Product& product, bool aligned, int capability, int multiprocessors) {
  const int64_t M = product.M;
  if (!aligned) return Way::tensor_cores;
  if (capability < 90) return M <= FEW_FOR_TRANSPOSED ? Way::transposed : Way::tensor_cores;
  if (M <= FEW_FOR_MMA) return Way::clusters;
  if (capability != 90) return M <= FEW_FOR_TRANSPOSED ? Way::clusters : Way::tensor_cores;
  const bool one_round = ceil_div(product.N, COLS_OF_WARPGROUP) <= multiprocessors;
  return M <= FEW_FOR_WARPGROUP || (M <= MOST_FOR_WARPGROUP && one_round) ? Way::warpgroups
                                                                          : Way::hopper;
}

int64_t workspace_bytes(const Bf16Product& product, const bf16* A, const bf16* B) {
  const int64_t parts = std::max(parts_of_threads(product, multiprocessors()),
                                 parts_of_mma(product, multiprocessors()));
  const int64_t of_parts =
      parts > 1 ? Workspace::bytes_of<float>(parts * product.M * product.N) : 0;
  return std::max(tensor_cores::workspace_bytes(product, A, B), of_parts);
}

}  // namespace tutorial::tiled_matmul::few_rows
