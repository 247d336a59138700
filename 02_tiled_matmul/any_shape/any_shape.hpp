// Part any_shape of chapter 02: part faster's problem, C = alpha·A·B + beta·C, where C is small,
// thin or a single row, or rows begin anywhere.
//
// Sizes, alpha and beta, and what a launcher promises are part faster's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::any_shape {

using faster::Launcher, faster::reference;

/// The step that step 1 goes on from.
inline constexpr const char* after = "faster/spread_copies";

Launcher tile_by_size, padded_rows, split_k, thin_tiles, few_rows;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "tile_by_size",
     .launch = tile_by_size,
     .idea = "a smaller tile where the large one would leave multiprocessors idle"},
    {.name = "padded_rows",
     .launch = padded_rows,
     .idea = "rows of B that begin anywhere are first copied into aligned ones"},
    {.name = "split_k", .launch = split_k, .idea = "blocks share a long K where C has few tiles"},
    {.name = "thin_tiles",
     .launch = thin_tiles,
     .idea = "tiles of six shapes, chosen by an estimate of their time"},
    {.name = "few_rows",
     .launch = few_rows,
     .idea = "up to four rows: B is read once, straight into registers"},
};

/// Step 1 for a B whose rows begin ldb >= N floats apart. What lies between them is read, too, and
/// comes to nothing.
void tile_by_size_strided(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                          int64_t ldb, float alpha, float beta);

/// Step 2's copy of B, with rows that begin ⌈N/4⌉·4 floats apart; nullptr if there is no memory.
/// Whoever takes it gives it back (stream_memory.hpp).
float* aligned_copy(const float* B, int64_t K, int64_t N);

/// In how many parts step 3 cuts K on a device of so many multiprocessors. With one it is step 2.
int64_t parts_of_k(int64_t M, int64_t N, int64_t K, int multiprocessors);

/// Up to so many rows step 5 has its own kernel, and then it cuts K in so many parts.
inline constexpr int64_t MOST_FEW_ROWS = 4;
int64_t parts_of_few_rows(int64_t N, int64_t K, int multiprocessors);

/// The letters in the steps' headers: the sizes, and what steps 3 to 5 choose for them. S parts
/// of K; rows of a part, or of C, LDC floats apart; step 4's tile BM × BN.
std::map<std::string, int64_t> symbols_of(Launcher* step, const float* B, int64_t M, int64_t N,
                                          int64_t K);

}  // namespace tutorial::tiled_matmul::any_shape
