// Masked batched matrix product: C[b] = A[b]·B[b] where a mask keeps, a fill value elsewhere.
//
//   A  batch × M × K    B  batch × K × N    C  batch × M × N    all float32, row-major
//   mask  M × N, shared by the batch, or batch × M × N: nonzero keeps the product, 0 gives the fill
//         value. (PyTorch's masked_fill is the other way round: it fills where its mask is true.)
//
// Any size >= 0; without elements nothing is launched, and K = 0 makes every product 0. Any
// alignment that a float* can have. The three tensors and the mask must not overlap.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::masked_bmm {

inline constexpr int BLOCK = 128;  // a mask is looked at in blocks of 128×128 elements of C
inline constexpr int PATCH = 8;    // and in patches of 8×8

/// How much of a block or a patch the element mask keeps. Only elements inside C count. (A count of
/// kept elements would do too, but not in a byte: 128·128 is 0 modulo 256, and a block that is kept
/// whole would look like one to skip.)
enum class Kept : uint8_t { none, some, all };

/// Of elements of which at least one is kept, and all are.
__host__ __device__ constexpr Kept kept_of(bool any, bool all) {
  return !any ? Kept::none : all ? Kept::all : Kept::some;
}

/// One problem. All pointers are to global memory.
struct MaskedBmm {
  int64_t batch = 1, M = 0, N = 0, K = 0;
  const uint8_t* mask = nullptr;
  bool mask_per_batch = false;  // batch × M × N, else M × N
  float fill = -std::numeric_limits<float>::infinity();
  // Made from `mask` by build_coarse_masks(), once for as many products as use the mask:
  const Kept* block_mask = nullptr;   // (masks, ⌈M/128⌉, ⌈N/128⌉)
  const Kept* thread_mask = nullptr;  // (masks, ⌈M/8⌉, ⌈N/8⌉)

  int64_t masks() const { return mask_per_batch ? batch : 1; }
};

// ---- the steps

using Launcher = void(const MaskedBmm& problem, const float* A, const float* B, float* C);
Launcher bmm_then_fill, three_level_mask, whole_sectors, wide_copies, four_blocks;

Asks<Launcher> bmm_then_fill_asks, by_live_blocks, by_half_blocks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "bmm_then_fill",
     .launch = bmm_then_fill,
     .asked = bmm_then_fill_asks,
     .idea = "the product, then a kernel that fills",
     .tile = tile_in_any_order(BLOCK, BLOCK)},
    {.name = "three_level_mask",
     .launch = three_level_mask,
     .asked = by_live_blocks,
     .idea = "skip blocks and threads, mask the rest",
     .tile = tile_of_a_block(BLOCK, BLOCK)},
    {.name = "whole_sectors",
     .launch = whole_sectors,
     .asked = by_live_blocks,
     .idea = "stores of 16 bytes that fill whole sectors"},
    {.name = "wide_copies",
     .launch = wide_copies,
     .asked = by_live_blocks,
     .idea = "16 bytes at a time to shared memory, past the registers"},
    {.name = "four_blocks",
     .launch = four_blocks,
     .asked = by_half_blocks,
     .idea = "half the tile, so that four blocks share a multiprocessor"},
};

/// The second half of step 1, also used after cuBLAS: C = fill where the mask is 0.
void masked_fill(const MaskedBmm& problem, float* C);

/// What the steps from 2 on read: block_mask and thread_mask from the element mask
/// (coarse_masks.cu).
void build_coarse_masks(const MaskedBmm& problem, Kept* block_mask, Kept* thread_mask);
std::vector<Asked> coarse_masks_ask(const MaskedBmm& problem);

// ---- the reference (reference.cpp)

/// A mask on the host.
struct Mask {
  std::vector<uint8_t> keep;  // (masks, M, N)
  bool per_batch = false;
};

/// Rows `rows` (of batch·M; empty: all) of the result, in double. Masked elements have bound 0.
/// `problem` gives sizes and fill value; its pointers are not used.
Expected masked_bmm_reference(const MaskedBmm& problem, const Mask& mask, std::span<const float> A,
                              std::span<const float> B, std::span<const int64_t> rows = {});

/// The coarse mask for tiles of tile × tile elements: (masks, ⌈M/tile⌉, ⌈N/tile⌉).
std::vector<Kept> coarse_mask_reference(const Mask& mask, int64_t M, int64_t N, int64_t tile);

}  // namespace tutorial::masked_bmm
