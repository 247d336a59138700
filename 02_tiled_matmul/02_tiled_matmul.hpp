// Chapter 02: C = alpha·A·B + beta·C in tiles, so that what is read once is used many times.
//
//   A is M×K, B is K×N, C is M×N: row-major float32 without gaps, so A[i][k] is A[i * K + k].
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::tiled_matmul {

/// Computes C = alpha·A·B + beta·C, as SGEMM does: beta = 0 does not read C, alpha = 0 reads
/// neither A nor B. All three are in global memory and C overlaps neither input; the pointers need
/// no more alignment than a float has. Any sizes >= 0: an empty C is left alone, K = 0 gives
/// beta·C. Throws CudaError when the launch is refused, and Error from a step that is not marked
/// ALPHA_BETA unless alpha = 1 and beta = 0.
using Launcher = void(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                      float alpha, float beta);

/// A feature of a step, in the list: it takes any alpha and beta.
inline constexpr unsigned ALPHA_BETA = 1;

/// How steps 3 to 6 divide C: 8×8 elements a thread, as two groups of four columns, 64 apart.
inline constexpr Tile SPLIT_PATCH = {
    .rows = 128, .cols = 128, .thread_rows = 8, .thread_cols = 8, .thread_col_parts = 2};

Launcher shared_tile, register_tile, conflict_free, vectorised, alpha_beta, pipelined, warp_tile,
    fragments_ahead, spread_copies, tile_by_size, padded_rows, split_k, thin_tiles, few_rows;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "shared_tile",
     .launch = shared_tile,
     .idea = "the block shares a tile of A and one of B",
     .tile = {.rows = 16, .cols = 16}},
    {.name = "register_tile",
     .launch = register_tile,
     .idea = "8×8 elements of C a thread, in registers",
     .tile = {.rows = 128, .cols = 128, .thread_rows = 8, .thread_cols = 8}},
    {.name = "conflict_free",
     .launch = conflict_free,
     .idea = "shared memory is read 16 bytes at a time, without conflicts",
     .tile = SPLIT_PATCH},
    {.name = "vectorised",
     .launch = vectorised,
     .idea = "global memory is read and written 16 bytes at a time, too",
     .tile = SPLIT_PATCH},
    {.name = "alpha_beta",
     .launch = alpha_beta,
     .idea = "C = alpha·A·B + beta·C",
     .tile = SPLIT_PATCH,
     .features = ALPHA_BETA},
    {.name = "pipelined",
     .launch = pipelined,
     .idea = "the next tiles come while these are multiplied",
     .tile = SPLIT_PATCH,
     .features = ALPHA_BETA},
    {.name = "warp_tile",
     .launch = warp_tile,
     .idea = "16×8 elements a thread; neighbouring lanes read the same 16 bytes",
     .features = ALPHA_BETA},
    {.name = "fragments_ahead",
     .launch = fragments_ahead,
     .idea = "the operands of the next products are read during these",
     .features = ALPHA_BETA},
    {.name = "spread_copies",
     .launch = spread_copies,
     .idea = "a few copies with each k, and no test in the loop",
     .features = ALPHA_BETA},
    {.name = "tile_by_size",
     .launch = tile_by_size,
     .idea = "a smaller tile where the large one would leave multiprocessors idle",
     .features = ALPHA_BETA},
    {.name = "padded_rows",
     .launch = padded_rows,
     .idea = "rows of B that begin anywhere are first copied into aligned ones",
     .features = ALPHA_BETA},
    {.name = "split_k",
     .launch = split_k,
     .idea = "blocks share a long K where C has few tiles",
     .features = ALPHA_BETA},
    {.name = "thin_tiles",
     .launch = thin_tiles,
     .idea = "tiles of six shapes, chosen by an estimate of their time",
     .features = ALPHA_BETA},
    {.name = "few_rows",
     .launch = few_rows,
     .idea = "up to four rows: B is read once, straight into registers",
     .features = ALPHA_BETA},
};

/// Step 10 for a B whose rows begin ldb >= N floats apart. What lies between them is read, too, and
/// comes to nothing.
void tile_by_size_strided(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                          int64_t ldb, float alpha, float beta);

/// Step 11's copy of B, with rows that begin ⌈N/4⌉·4 floats apart; nullptr if there is no memory.
/// Whoever takes it gives it back (stream_memory.hpp).
float* aligned_copy(const float* B, int64_t K, int64_t N);

/// In how many parts step 12 cuts K on a device of so many multiprocessors. With one it is step 11.
int64_t parts_of_k(int64_t M, int64_t N, int64_t K, int multiprocessors);

/// Up to so many rows step 14 has its own kernel, and then it cuts K in so many parts.
inline constexpr int64_t MOST_FEW_ROWS = 4;
int64_t parts_of_few_rows(int64_t N, int64_t K, int multiprocessors);

/// The letters in the steps' headers: the sizes, and what steps 12 to 14 choose for them. S parts
/// of K; rows of a part, or of C, LDC floats apart; step 13's tile BM × BN.
std::map<std::string, int64_t> symbols_of(Launcher* step, const float* B, int64_t M, int64_t N,
                                          int64_t K);

/// For a step without ALPHA_BETA: refuses what it cannot do, before it launches.
inline void require_plain_product(const char* step, float alpha, float beta) {
  if (alpha != 1 || beta != 0)
    throw Error(std::string(step) +
                " computes C = A·B only; leave out --alpha and --beta, or choose "
                "--kernel alpha_beta");
}

/// Rows of C = alpha·A·B + beta·C, in double: row i of the result is row rows[i] of C. `before` is
/// all of C before the product; it may be empty if beta = 0. The bound is that of float32
/// arithmetic with the products added in any order.
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows, float alpha = 1, float beta = 0,
                   std::span<const float> before = {});

}  // namespace tutorial::tiled_matmul
