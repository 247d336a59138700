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

  int64_t live_blocks() const { return blocks_in_all - blocks; }
};

/// Counts from the two coarse masks, for the threads of step 2. Threads whose patch lies outside C
/// count as skipped.
Skipped count_skipped(const MaskedBmm& problem, std::span<const Kept> block_mask,
                      std::span<const Kept> thread_mask);

/// "28 of 64 (43.8 %)"
std::string share(int64_t part, int64_t whole);
/// The counts in words.
std::vector<std::string> skipped_text(const Skipped& skipped);

}  // namespace tutorial::masked_bmm
