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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"

namespace tutorial {

inline constexpr int BLOCK = 128;  // a thread block owns 128×128 elements of C
inline constexpr int PATCH = 8;    // a thread owns 8×8 of them

/// What a coarse mask says of a block or a patch: how much of it the element mask keeps. Only
/// elements inside C count. (A count of kept elements would do too, but not in a byte: 128·128 is 0
/// modulo 256, and a block that is kept whole would look like one to skip.)
enum class Kept : uint8_t { none, some, all };

/// Where a 128×128 block of C lies: in block row `row` and block column `col` of the matrices that
/// use mask `mask`. Four equal numbers, aligned: so one instruction loads or stores them all.
struct alignas(16) BlockPlace {
  int32_t mask = 0, row = 0, col = 0;
  int32_t kept = 0;  // a Kept
};

/// A mask with a closed form: it keeps (i, j) where low <= j - i <= high, and low <= high.
struct Band {
  int64_t low = 0, high = 0;
};

/// One problem. All pointers are to device memory.
struct MaskedBmm {
  int64_t batch = 1, M = 0, N = 0, K = 0;
  const uint8_t* mask = nullptr;
  bool mask_per_batch = false;  // batch × M × N, else M × N
  float fill = -std::numeric_limits<float>::infinity();
  // Made from `mask` by build_coarse_masks(), once for as many products as use the mask:
  const Kept* block_mask = nullptr;   // (batch or 1) × ceil(M/128) × ceil(N/128)
  const Kept* thread_mask = nullptr;  // (batch or 1) × ceil(M/8) × ceil(N/8)

  // Made from `mask` by build_mask_words(), likewise:
  const uint64_t* mask_words = nullptr;    // (batch or 1) × ceil(M/8) × ceil(N/8)
  const BlockPlace* block_list = nullptr;  // all blocks of all masks, the live ones spread evenly
  // Where the mask is a band, its closed form; it must say what `mask` says.
  std::optional<Band> band = {};

  int64_t masks() const { return mask_per_batch ? batch : 1; }
};

// ---- the kernels

using Launcher = void(const MaskedBmm& problem, const float* A, const float* B, float* C);
Launcher bmm_then_fill, three_level_mask, mask_words, overlapped_tiles, closed_form;

inline constexpr Tile BLOCK_TILE = {
    .rows = BLOCK, .cols = BLOCK, .thread_rows = PATCH, .thread_cols = PATCH};

inline const std::vector<Step<Launcher>> steps = {
    {.name = "bmm_then_fill",
     .launch = bmm_then_fill,
     .idea = "the product, then a kernel that fills",
     .tile = BLOCK_TILE},
    {.name = "three_level_mask",
     .launch = three_level_mask,
     .idea = "skip blocks and threads, mask the rest",
     .tile = BLOCK_TILE},
    {.name = "mask_words",
     .launch = mask_words,
     .idea = "the mask in words, the blocks in a list",
     .tile = BLOCK_TILE},
    {.name = "overlapped_tiles",
     .launch = overlapped_tiles,
     .idea = "copies run ahead, four blocks overlap"},
    {.name = "closed_form",
     .launch = closed_form,
     .idea = "a causal mask or a window is a formula"},
};

/// The second half of step 1, also used after cuBLAS: C = fill where the mask is 0.
void masked_fill(const MaskedBmm& problem, float* C);

/// Step 2a: block_mask and thread_mask from the element mask, in the shapes that MaskedBmm gives.
void build_coarse_masks(const MaskedBmm& problem, Kept* block_mask, Kept* thread_mask);

/// Step 3a: the mask in words, the blocks' states and the list of blocks, in the shapes that
/// MaskedBmm gives.
void build_mask_words(const MaskedBmm& problem, uint64_t* words, Kept* block_mask,
                      BlockPlace* list);

// ---- the reference (reference.cpp)

/// The band that a mask of this name is (see make_mask), if it is one.
std::optional<Band> band_of(const std::string& kind, int64_t M, int64_t N);

/// A mask on the host.
struct Mask {
  std::vector<uint8_t> keep;  // (batch or 1) × M × N
  bool per_batch = false;
};

/// The mask that --mask names. i is a row, j a column, shift = N - M (so that the last row sees the
/// last column, whatever the shape):
///   none      keeps all
///   causal    keeps j <= i + shift
///   window:W  keeps the last W of those: i + shift - W < j <= i + shift
///   random:P  keeps each element with probability P
///   blocks:P  keeps each 128×128 block with probability P
///   FILE.npy  float32 0 and 1, M × N or batch × M × N
/// `per_batch` makes one for each batch; the random ones then differ. Throws Error for anything
/// else.
Mask make_mask(const std::string& kind, int64_t batch, int64_t M, int64_t N, bool per_batch,
               uint64_t seed);

/// The coarse mask for tiles of tile × tile elements: (batch or 1) × ceil(M/tile) × ceil(N/tile).
std::vector<Kept> coarse_mask_reference(const Mask& mask, int64_t M, int64_t N, int64_t tile);

/// The mask in words, as build_mask_words() gives them.
std::vector<uint64_t> mask_words_reference(const Mask& mask, int64_t M, int64_t N);

/// The list of blocks, as build_mask_words() gives it.
std::vector<BlockPlace> block_list_reference(const Mask& mask, int64_t M, int64_t N);

/// Rows `rows` (of batch·M; empty: all) of the result, in double. Masked elements have bound 0.
/// `problem` gives sizes and fill value; its pointers are not used.
Expected masked_bmm_reference(const MaskedBmm& problem, const Mask& mask, std::span<const float> A,
                              std::span<const float> B, std::span<const int64_t> rows = {});

/// What the coarse masks save, over the whole batch.
struct Skipped {
  int64_t blocks = 0, blocks_in_all = 0;
  int64_t threads = 0, threads_in_all = 0;  // in the blocks that are not skipped
  int64_t warps = 0, warps_in_all = 0;      // of which all 32 threads skip, likewise
};
/// Counts from the two coarse masks. Threads whose patch lies outside C count as skipped.
Skipped count_skipped(const MaskedBmm& problem, std::span<const Kept> block_mask,
                      std::span<const Kept> thread_mask);

}  // namespace tutorial
