// Chapter 01: the matrix product C = A·B, one thread for each element of C.
//
//   A is M×K, B is K×N, C is M×N: row-major float32 without gaps, so A[i][k] is A[i * K + k].
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/compare/compare.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::naive_matmul {

/// Computes C = A·B. All three are in global memory and C overlaps neither input; the pointers need
/// no more alignment than a float has. Any sizes >= 0: an empty C is left alone, K = 0 gives zeros.
/// Throws Error where C has more rows or columns than one grid covers, even if it has no elements.
using Launcher = void(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K);

Launcher uncoalesced, coalesced;

/// Two floats for each product, and C once.
inline std::vector<Asked> two_a_product(const float*, const float*, float*, int64_t M, int64_t N,
                                        int64_t K) {
  return {{.loads = 8 * M * N * K, .stores = 4 * M * N}};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "uncoalesced",
     .launch = uncoalesced,
     .asked = two_a_product,
     .idea = "a thread for each element, x counts rows (slow on purpose)",
     .tile = {.rows = 32, .cols = 8, .x_down = true}},
    {.name = "coalesced",
     .launch = coalesced,
     .asked = two_a_product,
     .idea = "x counts columns: a warp reads whole sectors",
     .tile = {.rows = 8, .cols = 32}},
};

/// For a step: refuses, before it launches, more rows or columns than one grid covers.
inline void require_at_most(int64_t most, int64_t count, const std::string& rows_or_columns,
                            const std::string& step) {
  if (count > most)
    throw Error(step + ": C has " + std::to_string(count) + " " + rows_or_columns +
                ", and one grid covers " + std::to_string(most) +
                "; make C smaller, or go on to chapter 02, which shows the way around");
}

/// Rows of C = A·B, in double: row i of the result is row rows[i] of C. The bound is that of a
/// float32 sum of K products, in any order (gamma_bound).
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows);

}  // namespace tutorial::naive_matmul
