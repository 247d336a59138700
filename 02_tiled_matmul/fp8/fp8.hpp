// Part fp8 of chapter 02: C = A·Bᵀ from numbers of 8 bits, on compute capability 9.0.
//
//   A is M×K, B is N×K, C is M×N: row-major without gaps, so both operands run along K, as wgmma
//   wants numbers of 8 bits. A and B are e4m3 (common/kernel/fp8.cuh), sums are fp32, C is bf16.
//
// e4m3 ends at 448 and has three bits of fraction. So the numbers of a matrix are divided by a
// scale first, and C is multiplied by the scales of its row and its column:
//
//   C[m][n] = Σ_k scale_a · A[m][k] · scale_b · B[n][k]
#pragma once

#include <cuda_fp8.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::fp8 {

using e4m3 = __nv_fp8_e4m3;
using tensor_cores::bf16;

/// The step that step 1 goes on from, of part hopper.
inline constexpr const char* after = "hopper/stored_behind";

/// The sizes of C = A·Bᵀ, any >= 0.
struct Fp8Product {
  int64_t M = 0, N = 0, K = 0;
};

/// For what there is a scale. Scaling::tensor: for all of A, and all of B. rows: for each row of A,
/// and of B. blocks: for each row of A and 128 elements of K, and for 128 rows of B and 128
/// elements of K.
enum class Scaling { tensor, rows, blocks };

/// Elements of K, and rows of B, that share a scale with Scaling::blocks.
inline constexpr int SCALED = 128;

/// The scales, in global memory, positive: a has (1), (M) or (⌈K/128⌉, M) of them, b (1), (N) or
/// (⌈K/128⌉, ⌈N/128⌉).
struct Scales {
  const float *a, *b;
};

/// Computes C in a stream. A and B are in global memory at any address, the scales are those of the
/// step. An empty C is left alone, K = 0 gives zeros. Where TMA does not take A or B, since K is no
/// multiple of 16 or one of them begins at none, they are first copied to the workspace, of
/// workspace_bytes() bytes. Waits for nothing. Throws Error, before any launch and for an empty C
/// too, on a device that is none of compute capability 9.0, where a size is 2^31 − 512 or more, and
/// where the workspace is too small.
using Launcher = void(const Fp8Product& product, const e4m3* A, const e4m3* B, Scales scales,
                      bf16* C, Workspace workspace, cudaStream_t stream);

Launcher tensor_scale, row_scales, sums_in_fp32, block_scales;

Asks<Launcher> tensor_scale_asks, row_scales_asks, sums_in_fp32_asks, block_scales_asks;

/// A feature of a step, in the list: its scaling.
inline constexpr unsigned OF_TENSOR = 1, OF_ROWS = 2, OF_BLOCKS = 4;
/// … and whether tensor cores add up no more than 128 elements of K.
inline constexpr unsigned SHORT_SUMS = 8;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "tensor_scale",
     .launch = tensor_scale,
     .asked = tensor_scale_asks,
     .idea = "numbers of 8 bits, twice as many in a tile, and a scale for each matrix",
     .needs = "sm_90a",
     .features = OF_TENSOR},
    {.name = "row_scales",
     .launch = row_scales,
     .asked = row_scales_asks,
     .idea = "a scale for each row of A and of B: an outlier spoils its own row alone",
     .needs = "sm_90a",
     .features = OF_ROWS},
    {.name = "sums_in_fp32",
     .launch = sums_in_fp32,
     .asked = sums_in_fp32_asks,
     .idea = "tensor cores add up 128 elements of K, the rest is added in fp32",
     .needs = "sm_90a",
     .features = OF_ROWS | SHORT_SUMS},
    {.name = "block_scales",
     .launch = block_scales,
     .asked = block_scales_asks,
     .idea = "a scale for 128 elements of K: each such sum is multiplied by its own",
     .needs = "sm_90a",
     .features = OF_BLOCKS | SHORT_SUMS},
};

inline Scaling scaling_of(const Step<Launcher>& step) {
  return step.features & OF_TENSOR ? Scaling::tensor
         : step.features & OF_ROWS ? Scaling::rows
                                   : Scaling::blocks;
}

/// The bytes that any step can use: those of copies of A and B with aligned rows.
int64_t workspace_bytes(const Fp8Product& product, const e4m3* A, const e4m3* B);

// ---- From float32 to e4m3

/// Rows of so many elements of K, or blocks of rows × columns, share a scale.
struct Groups {
  int64_t rows, cols;  // of a matrix (R, K)
};
/// The groups of a matrix (R, K): of A, or of B.
Groups groups_of(Scaling scaling, bool is_b, int64_t R, int64_t K);
/// How many scales that makes.
int64_t count_of(const Groups& groups, int64_t R, int64_t K);

/// Rounds X (R, K) to e4m3: each group's scale is its largest magnitude / 448, or 1 where all are
/// zeros; scales (column of groups, row of groups), as Scales has them. All in global memory, in a
/// stream. NaN and infinities give NaN.
void quantise(const float* X, int64_t R, int64_t K, const Groups& groups, e4m3* rounded,
              float* scales, cudaStream_t stream);

// ---- The reference

/// What the launchers' operands stand for, in float32.
struct Operand {
  std::vector<float> values;  // as e4m3 has them, (R, K)
  std::vector<float> scales;
  Groups groups;
};

/// Rows of C in double: row i of the result is row rows[i] of C, rounded to bf16. The bound is that
/// of a step with these features; reference.cpp derives it.
Expected reference(const Operand& A, const Operand& B, const Fp8Product& product,
                   std::span<const int64_t> rows, unsigned features);

}  // namespace tutorial::tiled_matmul::fp8
