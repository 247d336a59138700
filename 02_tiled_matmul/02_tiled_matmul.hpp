// Chapter 02: C = A·B in tiles, so that what is read once is used many times.
//
//   A is M×K, B is K×N, C is M×N: row-major float32 without gaps, so A[i][k] is A[i * K + k].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::tiled_matmul {

/// Computes C = A·B. All three are in global memory and C overlaps neither input; the pointers need
/// no more alignment than a float has. Any sizes >= 0: an empty C is left alone, K = 0 gives zeros.
/// Throws CudaError when the launch is refused.
using Launcher = void(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K);

/// How the steps from 3 on divide C: 8×8 elements a thread, as two groups of four columns, 64
/// apart.
inline constexpr Tile SPLIT_PATCH = {
    .rows = 128, .cols = 128, .thread_rows = 8, .thread_cols = 8, .thread_col_parts = 2};

Launcher shared_tile, register_tile, conflict_free, vectorised, pipelined;

/// In tiles of BM × BN elements of C: each reads its rows of A and its columns of B.
template <int BM, int BN>
std::vector<Asked> by_tiles(const float*, const float*, float*, int64_t M, int64_t N, int64_t K) {
  return {{.loads = 4 * K * (M * ceil_div(N, BN) + N * ceil_div(M, BM)), .stores = 4 * M * N}};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "shared_tile",
     .launch = shared_tile,
     .asked = by_tiles<16, 16>,
     .idea = "the block shares a tile of A and one of B",
     .tile = {.rows = 16, .cols = 16}},
    {.name = "register_tile",
     .launch = register_tile,
     .asked = by_tiles<128, 128>,
     .idea = "8×8 elements of C a thread, in registers",
     .tile = {.rows = 128, .cols = 128, .thread_rows = 8, .thread_cols = 8}},
    {.name = "conflict_free",
     .launch = conflict_free,
     .asked = by_tiles<128, 128>,
     .idea = "shared memory is read 16 bytes at a time, without conflicts",
     .tile = SPLIT_PATCH},
    {.name = "vectorised",
     .launch = vectorised,
     .asked = by_tiles<128, 128>,
     .idea = "global memory is read and written 16 bytes at a time, too",
     .tile = SPLIT_PATCH},
    {.name = "pipelined",
     .launch = pipelined,
     .asked = by_tiles<128, 128>,
     .idea = "the next tiles come while these are multiplied",
     .tile = SPLIT_PATCH},
};

/// Rows of C = A·B, in double: row i of the result is row rows[i] of C. The bound is that of
/// float32 arithmetic with the products added in any order.
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows);

}  // namespace tutorial::tiled_matmul
