// Part tensor_cores of chapter 02: C = A·B on tensor cores, from bf16 numbers.
//
//   A is M×K, B is K×N, C is M×N: row-major without gaps, so A[i][k] is A[i * K + k]. A and B are
//   bf16, sums are fp32, and C is fp32 or bf16, as the caller likes. Step 16 takes other layouts.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

using bf16 = __nv_bfloat16;

/// The road's last step: step 1 takes its tiles to tensor cores.
inline constexpr const char* after = "pipelined";

enum class Activation { none, gelu };

/// C = A·B. The sizes are any >= 0; the rest is, as it stands here, one product of matrices without
/// gaps, which all steps take.
struct Bf16Product {
  int64_t M = 0, N = 0, K = 0;

  // Other layouts, for steps layouts and epilogue. No two elements of C have one place.
  bool b_transposed = false;          // B lies as Bᵀ (N, K), as the weights of PyTorch's Linear
  int64_t lda = 0, ldb = 0, ldc = 0;  // elements from a row to the next; 0: no gap
  int64_t batch = 1;                  // so many products, …
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // … and from a matrix to the next; 0: no gap

  // An epilogue, for part hopper's step epilogue: C = act(alpha·A·B + beta·C + bias). beta = 0 does
  // not read C.
  float alpha = 1, beta = 0;
  const float* bias = nullptr;  // of each column of C, or none
  Activation act = Activation::none;
};
bool has_epilogue(const Bf16Product& product);
/// Is it what all steps take?
bool is_plain(const Bf16Product& product);
/// The same with its distances for their zeros. Throws Error where rows are longer than these.
Bf16Product spelled_out(Bf16Product product);

/// Where C goes, and with it the type of its elements: a bf16 is the sum rounded to nearest even.
using Output = std::variant<float*, bf16*>;

/// Computes C = A·B in a stream. All three are in global memory, at any address that a pointer of
/// their type can have, and C overlaps neither input. An empty C is left alone, K = 0 gives zeros.
/// With a workspace of fewer bytes than workspace_bytes(), or none, steps 13 to 15 are slower.
/// Waits for nothing. Throws Error, before any launch and for an empty C too, for a product that
/// the step does not take, and on a device whose tensor cores do not take bf16 or whose blocks have
/// too little shared memory.
using Launcher = void(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                      Workspace workspace, cudaStream_t stream);

Launcher wmma, fragments, swizzled, stages, large_tiles, fragments_ahead, late_copies,
    hoisted_addresses, grouped_blocks, wide_stores, narrow_copies, leading_dimensions, padded_rows,
    small_tiles, by_shape, layouts;

/// E, the bytes of an element of C.
inline int64_t bytes_of_element(const Output& C) {
  return std::holds_alternative<float*>(C) ? sizeof(float) : sizeof(bf16);
}
/// In tiles of BM × BN elements of C: each reads its rows of A and its columns of B.
template <int BM, int BN>
std::vector<Asked> by_tiles(const Bf16Product& s, const bf16*, const bf16*, Output C, Workspace,
                            cudaStream_t) {
  const int64_t E = bytes_of_element(C);
  return {{.loads = 2 * s.K * (s.M * ceil_div(s.N, BN) + s.N * ceil_div(s.M, BM)),
           .stores = E * s.M * s.N}};
}
Asks<Launcher> padded_rows_asks, small_tiles_asks, by_shape_asks, layouts_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "wmma",
     .launch = wmma,
     .asked = by_tiles<128, 128>,
     .idea = "a warp multiplies 16×16×16 elements in one call, as CUDA's guide shows it",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80"},
    {.name = "fragments",
     .launch = fragments,
     .asked = by_tiles<128, 128>,
     .idea = "the instruction itself, with fragments that ldmatrix reads from padded rows",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80"},
    {.name = "swizzled",
     .launch = swizzled,
     .asked = by_tiles<128, 128>,
     .idea = "the chunks of a row change places, and no padding is needed",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80"},
    {.name = "stages",
     .launch = stages,
     .asked = by_tiles<128, 128>,
     .idea = "three stages: tiles are copied while others are multiplied",
     .tile = tile_in_any_order(128, 128),
     .needs = "sm_80"},
    {.name = "large_tiles",
     .launch = large_tiles,
     .asked = by_tiles<128, 256>,
     .idea = "more of C a warp and a block, so that each element is read less often",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "fragments_ahead",
     .launch = fragments_ahead,
     .asked = by_tiles<128, 256>,
     .idea = "the fragments of the next products are read during these",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "late_copies",
     .launch = late_copies,
     .asked = by_tiles<128, 256>,
     .idea = "copies begin two quarters of a tile after the barrier",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "hoisted_addresses",
     .launch = hoisted_addresses,
     .asked = by_tiles<128, 256>,
     .idea = "a lane's addresses in the tiles are computed once",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "grouped_blocks",
     .launch = grouped_blocks,
     .asked = by_tiles<128, 256>,
     .idea = "blocks that run together share rows of A and columns of B",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "wide_stores",
     .launch = wide_stores,
     .asked = by_tiles<128, 256>,
     .idea = "C goes through shared memory, 16 bytes a lane",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "narrow_copies",
     .launch = narrow_copies,
     .asked = by_tiles<128, 256>,
     .idea = "copies of 8 or 4 bytes where rows do not allow 16",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "leading_dimensions",
     .launch = leading_dimensions,
     .asked = by_tiles<128, 256>,
     .idea = "rows may begin further apart than they are long",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "padded_rows",
     .launch = padded_rows,
     .asked = padded_rows_asks,
     .idea = "rows that are not aligned are first copied into rows that are",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_80"},
    {.name = "small_tiles",
     .launch = small_tiles,
     .asked = small_tiles_asks,
     .idea = "a smaller tile where the large one would leave multiprocessors idle",
     .needs = "sm_80"},
    {.name = "by_shape",
     .launch = by_shape,
     .asked = by_shape_asks,
     .idea = "the tile with which the busiest multiprocessor is done first",
     .needs = "sm_80"},
    {.name = "layouts",
     .launch = layouts,
     .asked = layouts_asks,
     .idea = "B or its transpose, rows with gaps, and several products in one launch",
     .needs = "sm_80"},
};

/// The bytes that any step can use at most: those of step 13's copies, which depend on where A and
/// B begin.
int64_t workspace_bytes(const Bf16Product& product, const bf16* A, const bf16* B);

/// Rows of C = A·B in double: row i of the result is row rows[i] of C. A and B hold what bf16
/// numbers can. The bound is that of fp32 sums on tensor cores; in_bf16() adds the rounding of C.
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows);

/// Are there fewer of step 14's large tiles in a C of this size than multiprocessors?
bool large_tiles_are_few(int64_t M, int64_t N, int multiprocessors);

/// Does step 15 take the small tiles for a C of this size, on a device of so many multiprocessors,
/// and of so much shared memory a block? `batch` such products may share it.
bool takes_small_tiles(int64_t M, int64_t N, int multiprocessors, int64_t shared_bytes,
                       int64_t batch = 1);

}  // namespace tutorial::tiled_matmul::tensor_cores
