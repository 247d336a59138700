// Part few_rows of chapter 02: part tensor_cores' problem, C = A·B from bf16 numbers, where A and C
// have few rows, as when a model writes one word after another. Each element of B is then used a
// few times only, and what counts is how fast B comes.
//
// Sizes, types, and what a launcher promises are part tensor_cores'.
#pragma once

#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::few_rows {

using tensor_cores::bf16, tensor_cores::Bf16Product, tensor_cores::Launcher, tensor_cores::Output;

/// The step that goes on where rows are not few.
inline constexpr const char* after = "hopper/by_shape";

// These steps take what TMA takes: A, B and C begin at multiples of 16 bytes, N and K are multiples
// of 8 below 2^30. Anything else goes the way of part tensor_cores' by_shape. Rows may be many:
// then B is read again for each few of them. Steps 4 to 6 throw Error before compute
// capability 9.0.
Launcher straight, split_k, transposed, clusters, warpgroups, larger_tiles, by_shape;

Asks<Launcher> straight_asks, split_k_asks, transposed_asks, clusters_asks, warpgroups_asks,
    larger_tiles_asks, by_shape_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "straight",
     .launch = straight,
     .asked = straight_asks,
     .idea = "a thread has eight columns and reads B 16 bytes at a time, straight into registers",
     .needs = "sm_80"},
    {.name = "split_k",
     .launch = split_k,
     .asked = split_k_asks,
     .idea = "several blocks share a K, so that all multiprocessors read",
     .needs = "sm_80"},
    {.name = "transposed",
     .launch = transposed,
     .asked = transposed_asks,
     .idea = "tensor cores compute the transposed product, from tiles that are copied ahead",
     .tile = tile_in_any_order(16, 128),
     .needs = "sm_80"},
    {.name = "clusters",
     .launch = clusters,
     .asked = clusters_asks,
     .idea = "the blocks that share a K are a cluster, and add up in each other's memory",
     .tile = tile_in_any_order(16, 128),
     .needs = "sm_90"},
    {.name = "warpgroups",
     .launch = warpgroups,
     .asked = warpgroups_asks,
     .idea = "for more rows TMA and warpgroups, transposed, too",
     .needs = "sm_90a"},
    {.name = "larger_tiles",
     .launch = larger_tiles,
     .asked = larger_tiles_asks,
     .idea = "two warpgroups, tiles of up to 256 rows in even shares",
     .needs = "sm_90a"},
    {.name = "by_shape",
     .launch = by_shape,
     .asked = by_shape_asks,
     .idea = "few rows here, many in part hopper",
     .needs = "sm_80"},
};

/// The bytes that any step can use at most on this device: those of the parts of K, or of part
/// tensor_cores' copies. With fewer, K stays in one part.
int64_t workspace_bytes(const Bf16Product& product, const bf16* A, const bf16* B);

// ---- The rules, for a device of so many multiprocessors. N > 0.

/// Rows of C that a block of steps 1 and 2 has, and of steps 3 and 4; and the columns of each.
inline int64_t rows_of_threads(int64_t M) {
  return M == 1 ? 1 : 4;
}
inline constexpr int64_t COLS_OF_THREADS = 64, ROWS_OF_MMA = 16, COLS_OF_MMA = 128;
/// … and of step 5: 32, 64 or 128, the least that holds them all.
inline int64_t rows_of_warpgroup(int64_t M) {
  return M <= 32 ? 32 : M <= 64 ? 64 : 128;
}
inline constexpr int64_t COLS_OF_WARPGROUP = 64;

/// In how many parts K is cut in step 2, in steps 3 and 4, and in step 5.
int64_t parts_of_threads(const Bf16Product& product, int multiprocessors);
int64_t parts_of_mma(const Bf16Product& product, int multiprocessors);
int64_t parts_of_warpgroup(const Bf16Product& product, int multiprocessors);
/// Whether step 5 takes a ring of fewer stages, so that a multiprocessor has several blocks.
bool takes_small_rings(const Bf16Product& product, int multiprocessors);

/// Of step 6 the columns of a tile and the most rows, and how many rows a tile has for so many of
/// A.
inline constexpr int64_t COLS_OF_LARGER = 128, MOST_ROWS_OF_LARGER = 256;
inline int64_t rows_of_larger(int64_t rows) {
  return rows <= 128 ? 128 : rows <= 192 ? 192 : MOST_ROWS_OF_LARGER;
}
/// How many rows of A a tile of step 6 gets, and in how many parts K is cut.
struct Larger {
  int64_t rows = 1, parts = 1;
};
Larger larger_tiles_of(const Bf16Product& product, int multiprocessors);

/// What by_shape takes.
enum class Way { transposed, clusters, warpgroups, larger_tiles, tensor_cores, hopper };
Way way_of(const Bf16Product& product, bool aligned, int capability, int multiprocessors);

}  // namespace tutorial::tiled_matmul::few_rows
