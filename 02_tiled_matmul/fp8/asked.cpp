// What the steps ask global memory for: tiles, scales, and copies where TMA takes no others.
#include <algorithm>

#include "common/kernel/device.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {
namespace {

/// In pairs of tiles, 256 × 256 elements of C; `scales`: the bytes of scales that threads read.
std::vector<Asked> by_tiles(const Fp8Product& s, const e4m3* A, const e4m3* B, int64_t scales) {
  std::vector<Asked> asked;
  if (workspace_bytes(s, A, B) > 0)
    asked.push_back(
        {.kernel = "copy_rows", .loads = (s.M + s.N) * s.K, .stores = (s.M + s.N) * s.K});
  asked.push_back({.loads = s.K * (s.M * ceil_div(s.N, 256) + s.N * ceil_div(s.M, 256)) + scales,
                   .stores = 2 * s.M * s.N});
  return asked;
}

int64_t pairs_of_tiles(const Fp8Product& s) {
  return ceil_div(s.M, 256) * ceil_div(s.N, 256);
}

/// A row's scale by four lanes of each tile, a column's by eight of each of its 16 warps.
int64_t scales_of_rows(const Fp8Product& s) {
  return 4 * (4 * s.M * ceil_div(s.N, 256) + 8 * 16 * s.N * ceil_div(s.M, 256));
}

}  // namespace

std::vector<Asked> tensor_scale_asks(const Fp8Product& s, const e4m3* A, const e4m3* B, Scales,
                                     bf16*, Workspace, cudaStream_t) {
  const int64_t pairs = std::min<int64_t>(pairs_of_tiles(s), multiprocessors() / 2);
  return by_tiles(s, A, B, 2 * 256 * 8 * pairs);  // two by each thread that multiplies
}
std::vector<Asked> row_scales_asks(const Fp8Product& s, const e4m3* A, const e4m3* B, Scales, bf16*,
                                   Workspace, cudaStream_t) {
  return by_tiles(s, A, B, scales_of_rows(s));
}
std::vector<Asked> sums_in_fp32_asks(const Fp8Product& s, const e4m3* A, const e4m3* B, Scales,
                                     bf16*, Workspace, cudaStream_t) {
  return by_tiles(s, A, B, scales_of_rows(s));
}
std::vector<Asked> block_scales_asks(const Fp8Product& s, const e4m3* A, const e4m3* B, Scales,
                                     bf16*, Workspace, cudaStream_t) {
  // For each tile of K and the one behind it, by each lane that multiplies: those of its two rows,
  // and of the two parts of its columns.
  const int64_t pieces = ceil_div(s.K, SCALED) + 1, tiles = ceil_div(s.N, 256);
  const int64_t of_a = 4 * s.M * tiles, of_b = 2 * 2 * 256 * ceil_div(s.M, 256) * tiles;
  return by_tiles(s, A, B, 4 * pieces * (of_a + of_b));
}

}  // namespace tutorial::tiled_matmul::fp8
