// Part faster of chapter 02: C = alpha·A·B + beta·C, from the road's last step to the speed of
// NVIDIA's own library and past it.
//
//   A is M×K, B is K×N, C is M×N: row-major float32 without gaps, so A[i][k] is A[i * K + k].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "02_tiled_matmul.hpp"

namespace tutorial::tiled_matmul::faster {

/// The road's step that step 1 goes on from.
inline constexpr const char* after = "pipelined";

/// The numbers of C = alpha·A·B + beta·C. Any sizes >= 0.
struct ScaledProduct {
  int64_t M = 0, N = 0, K = 0;
  float alpha = 1, beta = 0;
};

/// Computes C = alpha·A·B + beta·C, as SGEMM does: beta = 0 does not read C, alpha = 0 reads
/// neither A nor B. All three are in global memory and C overlaps neither input; the pointers need
/// no more alignment than a float has. Any sizes >= 0: an empty C is left alone, K = 0 gives
/// beta·C. Throws CudaError when the launch is refused.
using Launcher = void(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                      float alpha, float beta);

Launcher alpha_beta, warp_tile, fragments_ahead, clamped_edges, short_tile_first, last_tile_apart,
    spread_copies;

/// What a step asks for, from what it asks for with alpha = 1 and beta = 0.
inline Asked scaled(Asked plain, int64_t M, int64_t N, float alpha, float beta) {
  if (alpha == 0) plain.loads = 0;
  if (beta != 0) plain.loads += 4 * M * N;
  return plain;
}

/// In tiles of BM × BN elements of C: each reads its rows of A and its columns of B.
template <int BM, int BN>
std::vector<Asked> by_tiles(const float*, const float*, float*, int64_t M, int64_t N, int64_t K,
                            float alpha, float beta) {
  return {
      scaled({.loads = 4 * K * (M * ceil_div(N, BN) + N * ceil_div(M, BM)), .stores = 4 * M * N}, M,
             N, alpha, beta)};
}
/// In tiles of 128 × 256; what one at the edge has of A and B is as large as another's.
inline std::vector<Asked> by_whole_tiles(const float*, const float*, float*, int64_t M, int64_t N,
                                         int64_t K, float alpha, float beta) {
  return {scaled({.loads = 1536 * K * ceil_div(M, 128) * ceil_div(N, 256), .stores = 4 * M * N}, M,
                 N, alpha, beta)};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "alpha_beta",
     .launch = alpha_beta,
     .asked = by_tiles<128, 128>,
     .idea = "C = alpha·A·B + beta·C",
     .tile = SPLIT_PATCH},
    {.name = "warp_tile",
     .launch = warp_tile,
     .asked = by_tiles<128, 256>,
     .idea = "16×8 elements a thread; neighbouring lanes read the same 16 bytes"},
    {.name = "fragments_ahead",
     .launch = fragments_ahead,
     .asked = by_tiles<128, 256>,
     .idea = "the operands of the next products are read during these"},
    {.name = "clamped_edges",
     .launch = clamped_edges,
     .asked = by_whole_tiles,
     .idea = "a copy's source is found once; beyond an edge it is the last row or column"},
    {.name = "short_tile_first",
     .launch = short_tile_first,
     .asked = by_whole_tiles,
     .idea = "what is left of K comes first: no copy in the loop asks where K ends"},
    {.name = "last_tile_apart",
     .launch = last_tile_apart,
     .asked = by_whole_tiles,
     .idea = "the last tiles have code of their own: the loop asks for nothing"},
    {.name = "spread_copies",
     .launch = spread_copies,
     .asked = by_whole_tiles,
     .idea = "a few copies with each k, not all at the start of a tile"},
};

/// Rows of C = alpha·A·B + beta·C, in double: row i of the result is row rows[i] of C. `before` is
/// all of C before the product; it may be empty if beta = 0. The bound is that of float32
/// arithmetic with the products added in any order.
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows, float alpha = 1, float beta = 0,
                   std::span<const float> before = {});

}  // namespace tutorial::tiled_matmul::faster
