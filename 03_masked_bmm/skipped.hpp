// What the coarse masks save.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "03_masked_bmm.hpp"

namespace tutorial::masked_bmm {

/// Over the whole batch.
struct Skipped {
  int64_t blocks = 0, blocks_in_all = 0;
  int64_t threads = 0, threads_in_all = 0;  // in the blocks that are not skipped
  int64_t warps = 0, warps_in_all = 0;      // of which all 32 threads skip, likewise
};

/// Counts from the two coarse masks, for the threads of step 2. Threads whose patch lies outside C
/// count as skipped.
Skipped count_skipped(const MaskedBmm& problem, std::span<const Kept> block_mask,
                      std::span<const Kept> thread_mask);

/// The blocks that keep something, over the whole batch, and what is read of A and B for them in
/// tiles of tile_rows × 128 elements of C.
struct LiveBlocks {
  int64_t count = 0;
  int64_t beyond_edges = 0;  // rows and columns that would be read more if all lay inside of C
};
LiveBlocks live_blocks(const MaskedBmm& problem, const Mask& mask, int64_t tile_rows);

/// "28 of 64 (43.8 %)"
std::string share(int64_t part, int64_t whole);
/// The counts in words.
std::vector<std::string> skipped_text(const Skipped& skipped);

}  // namespace tutorial::masked_bmm
