// Part block_lists of chapter 03: the mask in words of 64 bits, and the blocks in a list.
//
// The same problem as the chapter's, in the same words: C[b] = A[b]·B[b] where a mask keeps, a fill
// value elsewhere. What else is read is made from the mask, once for as many products as use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "03_masked_bmm.hpp"

namespace tutorial::masked_bmm::block_lists {

/// The step that this part goes on from: its first one packs the masks which that one reads.
inline constexpr const char* after = "three_level_mask";

/// An entry of the list of blocks: the block in block row `row` and block column `col` of the
/// matrices that use mask `mask`. Four equal numbers, aligned: one instruction moves them all.
struct alignas(16) ListedBlock {
  int32_t mask = 0, row = 0, col = 0;
  int32_t kept = 0;  // a Kept

  bool operator==(const ListedBlock&) const = default;
};

/// A mask with a closed form: it keeps (i, j) where low <= j - i <= high, and low <= high.
struct Band {
  int64_t low = 0, high = 0;
};
/// The band that --mask names, if what it names is one.
std::optional<Band> band_of(const std::string& kind, int64_t M, int64_t N);

/// One problem. All pointers are to global memory.
struct ListedBmm : MaskedBmm {
  // Made from `mask` by build_mask_words():
  const uint64_t* mask_words = nullptr;     // (masks, ⌈M/8⌉, ⌈N/8⌉)
  const ListedBlock* block_list = nullptr;  // all blocks of all masks, the live ones spread evenly
  // Where the mask is a band, its closed form; it must say what `mask` says.
  std::optional<Band> band = {};
};

// ---- the steps

using Launcher = void(const ListedBmm& problem, const float* A, const float* B, float* C);
Launcher mask_words, small_tiles, overlapped_tiles, closed_form;

/// As the chapter's steps.
inline std::vector<Asked> by_listed_blocks(const ListedBmm& problem, const float* A, const float* B,
                                           float* C) {
  return by_live_blocks(problem, A, B, C);
}
inline std::vector<Asked> by_listed_half_blocks(const ListedBmm& problem, const float* A,
                                                const float* B, float* C) {
  return by_half_blocks(problem, A, B, C);
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "mask_words",
     .launch = mask_words,
     .asked = by_listed_blocks,
     .idea = "the mask in words, the blocks in a list",
     .tile = tile_in_any_order(BLOCK, BLOCK)},
    {.name = "small_tiles",
     .launch = small_tiles,
     .asked = by_listed_half_blocks,
     .idea = "half a block a tile, four blocks on a multiprocessor"},
    {.name = "overlapped_tiles",
     .launch = overlapped_tiles,
     .asked = by_listed_half_blocks,
     .idea = "the copies run ahead of the products"},
    {.name = "closed_form",
     .launch = closed_form,
     .asked = by_listed_half_blocks,
     .idea = "a causal mask or a window is a formula"},
};

/// What steps 1 to 3 read: the mask in words, and the list of blocks (mask_words_and_list.cu). On
/// the way come the blocks' states, as in block_mask.
void build_mask_words(const MaskedBmm& problem, uint64_t* words, Kept* states, ListedBlock* list);
std::vector<Asked> mask_words_and_list_ask(const MaskedBmm& problem);

// ---- the reference (reference.cpp)

/// The mask in words, as build_mask_words() gives them.
std::vector<uint64_t> mask_words_reference(const Mask& mask, int64_t M, int64_t N);

/// The list of blocks, as build_mask_words() gives it.
std::vector<ListedBlock> block_list_reference(const Mask& mask, int64_t M, int64_t N);

}  // namespace tutorial::masked_bmm::block_lists
