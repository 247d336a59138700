// Part tf32 of chapter 02: C = A·B for float32 matrices, on tensor cores.
//
//   A is M×K, B is K×N, C is M×N: row-major float32 without gaps, so A[i][k] is A[i * K + k].
//
// Tensor cores take no float32. They take TF32: a float32 whose fraction has 10 bits in place of
// 23. Step 1 rounds what it multiplies. The other steps cut each number in two of TF32, and three
// products of these give almost what float32 gives.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::tiled_matmul::tf32 {

/// The road's last step: step 1 takes its tiles to tensor cores.
inline constexpr const char* after = "pipelined";

/// The sizes of C = A·B, any >= 0.
struct Tf32Product {
  int64_t M = 0, N = 0, K = 0;
};

/// Computes C = A·B in a stream. All three are in global memory, at any address that a float* can
/// have, and C overlaps neither input. An empty C is left alone, K = 0 gives zeros. Waits for
/// nothing. Throws Error, before any launch and for an empty C too, on a device whose tensor cores
/// do not take TF32 or whose blocks have too little shared memory.
///
/// For numbers of less than 2^127: of a larger one, or an infinity, steps from 2 on make NaN. Below
/// 2^-100 the smaller one of the two numbers leaves fp32's range, and the error grows.
using Launcher = void(const Tf32Product& product, const float* A, const float* B, float* C,
                      cudaStream_t stream);

Launcher one_product, three_products, partial_sums, deep_tiles, integer_rounding, two_blocks,
    wide_fragments, fragments_ahead, three_stages;

/// A feature of a step, in the list: how many products of TF32 numbers it takes for one of float32.
inline constexpr unsigned ONE_PRODUCT = 1, THREE_PRODUCTS = 3;

/// In tiles of 128 × 128 elements of C, or 64 × 128; what one at the edge has of A and B is as
/// large as another's.
inline std::vector<Asked> by_tiles_of_128(const Tf32Product& s, const float*, const float*, float*,
                                          cudaStream_t) {
  return {{.loads = 1024 * s.K * ceil_div(s.M, 128) * ceil_div(s.N, 128), .stores = 4 * s.M * s.N}};
}
inline std::vector<Asked> by_tiles_of_64(const Tf32Product& s, const float*, const float*, float*,
                                         cudaStream_t) {
  return {{.loads = 768 * s.K * ceil_div(s.M, 64) * ceil_div(s.N, 128), .stores = 4 * s.M * s.N}};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "one_product",
     .launch = one_product,
     .asked = by_tiles_of_128,
     .idea = "the operands are rounded to TF32, and tensor cores multiply",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80",
     .features = ONE_PRODUCT},
    {.name = "three_products",
     .launch = three_products,
     .asked = by_tiles_of_128,
     .idea = "each operand is the sum of two TF32 numbers: three products",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "partial_sums",
     .launch = partial_sums,
     .asked = by_tiles_of_128,
     .idea = "tensor cores add up a tile; the tiles' sums are added in fp32",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "deep_tiles",
     .launch = deep_tiles,
     .asked = by_tiles_of_128,
     .idea = "32 elements of K at a time: half as many additions and barriers",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "integer_rounding",
     .launch = integer_rounding,
     .asked = by_tiles_of_128,
     .idea = "operands are rounded by two integer instructions",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "two_blocks",
     .launch = two_blocks,
     .asked = by_tiles_of_64,
     .idea = "blocks of half the size, two on a multiprocessor",
     .tile = tile_in_any_order(64, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "wide_fragments",
     .launch = wide_fragments,
     .asked = by_tiles_of_64,
     .idea = "ldmatrix for A, 16 bytes of B and of C in one access",
     .tile = tile_in_any_order(64, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "fragments_ahead",
     .launch = fragments_ahead,
     .asked = by_tiles_of_64,
     .idea = "the next fragments are read while these are multiplied",
     .tile = tile_in_any_order(64, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
    {.name = "three_stages",
     .launch = three_stages,
     .asked = by_tiles_of_64,
     .idea = "two tiles come while one is multiplied",
     .tile = tile_in_any_order(64, 128),
     .needs = "sm_80",
     .features = THREE_PRODUCTS},
};

/// Each value rounded to TF32: to nearest, ties away from zero, as to_tf32() does.
std::vector<float> rounded_to_tf32(std::span<const float> values);

/// Rows of C = A·B in double: row i of the result is row rows[i] of C. For ONE_PRODUCT A and B must
/// be rounded to TF32; the bound is then that of sums on tensor cores. For THREE_PRODUCTS it has
/// what is left of the operands, too.
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows, unsigned products);

/// That bound, as a part of Σ|a||b| over K products.
double relative_bound(int64_t K, unsigned products);

}  // namespace tutorial::tiled_matmul::tf32
