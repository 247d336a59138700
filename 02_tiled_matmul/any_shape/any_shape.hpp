// Part any_shape of chapter 02: part faster's problem, C = alpha·A·B + beta·C, where C is small,
// thin or a single row, or rows begin anywhere.
//
// The problem is part faster's, and so is what a launcher computes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "common/kernel/workspace.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::any_shape {

using faster::reference, faster::ScaledProduct;

/// The step that step 1 goes on from.
inline constexpr const char* after = "faster/spread_copies";

/// Computes C = alpha·A·B + beta·C in a stream, as part faster's launchers do in the default one,
/// and waits for nothing: the workspace stays the launch's until the stream has done its work. A
/// step whose copy of B or parts of K find no room there does without, and is slower;
/// workspace_bytes() are enough for all.
using Launcher = void(const ScaledProduct& product, const float* A, const float* B, float* C,
                      Workspace workspace, cudaStream_t stream);

Launcher tile_by_size, padded_rows, split_k, thin_tiles, few_rows, few_columns, short_k;

Asks<Launcher> tile_by_size_asks, padded_rows_asks, split_k_asks, thin_tiles_asks, few_rows_asks,
    few_columns_asks, short_k_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "tile_by_size",
     .launch = tile_by_size,
     .asked = tile_by_size_asks,
     .idea = "a smaller tile where the large one would leave multiprocessors idle"},
    {.name = "padded_rows",
     .launch = padded_rows,
     .asked = padded_rows_asks,
     .idea = "rows of B that begin anywhere are first copied into aligned ones"},
    {.name = "split_k",
     .launch = split_k,
     .asked = split_k_asks,
     .idea = "blocks share a long K where C has few tiles"},
    {.name = "thin_tiles",
     .launch = thin_tiles,
     .asked = thin_tiles_asks,
     .idea = "tiles of six shapes, chosen by an estimate of their time"},
    {.name = "few_rows",
     .launch = few_rows,
     .asked = few_rows_asks,
     .idea = "up to 16 rows: B is read once, straight into registers"},
    {.name = "few_columns",
     .launch = few_columns,
     .asked = few_columns_asks,
     .idea = "up to eight columns: a warp a row of A, whose lanes add up what they have"},
    {.name = "short_k",
     .launch = short_k,
     .asked = short_k_asks,
     .idea = "a short K comes to shared memory at once: one wait, and no stages"},
};

/// The bytes that any step can use at most on this device; they depend on where B begins.
int64_t workspace_bytes(const ScaledProduct& product, const float* B);

/// Step 1 for a B whose rows begin ldb >= N floats apart. What lies between them is read, too, and
/// comes to nothing.
void tile_by_size_strided(const ScaledProduct& product, const float* A, const float* B, float* C,
                          int64_t ldb, cudaStream_t stream);

/// Whether step 2 copies B.
bool copy_pays(const ScaledProduct& product, const float* B);
/// Step 2's copy of B, taken from the workspace: rows begin ⌈N/4⌉·4 floats apart. nullptr where too
/// little is left. K > 0.
float* aligned_copy(const ScaledProduct& product, const float* B, Workspace& workspace,
                    cudaStream_t stream);

/// In how many parts step 3 cuts K on a device of so many multiprocessors. With one it is step 2.
int64_t parts_of_k(int64_t M, int64_t N, int64_t K, int multiprocessors);

/// Up to so many rows step 5 has its own kernel, if this says so: up to four always, and above
/// where B is small, or up to eight where its rows begin anywhere. And then it cuts K in so many
/// parts.
inline constexpr int64_t MOST_FEW_ROWS = 16, ALWAYS_FEW_ROWS = 4;
bool are_few_rows(const ScaledProduct& product, const float* B);
int64_t parts_of_few_rows(int64_t N, int64_t K, int multiprocessors);

/// Up to so many columns step 6 has its own kernel, if this says so.
inline constexpr int64_t MOST_FEW_COLUMNS = 8;
bool are_few_columns(int64_t M, int64_t N, int64_t K);
/// The rows of A that a warp of step 6 takes, or that all warps of a block share.
struct RowsOfWarp {
  int64_t rows;
  bool shared;
};
RowsOfWarp rows_of_warp(int64_t M, int64_t K, int multiprocessors);

/// Up to so much of K fits into step 7's shared memory. Does it take such a product?
inline constexpr int64_t MOST_SHORT_K = 96;
bool is_short_k(int64_t M, int64_t N, int64_t K);

}  // namespace tutorial::tiled_matmul::any_shape
