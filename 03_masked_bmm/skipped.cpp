#include "skipped.hpp"

#include <algorithm>
#include <cstdio>

namespace tutorial::masked_bmm {

Skipped count_skipped(const MaskedBmm& p, std::span<const Kept> block_mask,
                      std::span<const Kept> thread_mask) {
  const int64_t blocks_down = ceil_div(p.M, BLOCK), blocks_across = ceil_div(p.N, BLOCK);
  const int64_t patches_down = ceil_div(p.M, PATCH), patches_across = ceil_div(p.N, PATCH);
  const int side = BLOCK / PATCH;      // threads along a block's side
  const int rows_of_warp = 32 / side;  // a warp is two rows of threads
  const int64_t times = p.mask_per_batch ? 1 : p.batch;

  Skipped skipped;
  int64_t block = 0;
  for (int64_t m = 0; m < p.masks(); ++m) {
    const auto works = [&](int64_t down, int64_t across) {
      return down < patches_down && across < patches_across &&
             thread_mask[(m * patches_down + down) * patches_across + across] != Kept::none;
    };
    for (int64_t block_row = 0; block_row < blocks_down; ++block_row) {
      for (int64_t block_col = 0; block_col < blocks_across; ++block_col) {
        skipped.blocks_in_all += times;
        if (block_mask[block++] == Kept::none) {
          skipped.blocks += times;
          continue;
        }
        for (int warp = 0; warp < side / rows_of_warp; ++warp) {
          int idle = 0;
          for (int t = warp * 32; t < (warp + 1) * 32; ++t)
            idle += !works(block_row * side + t / side, block_col * side + t % side);
          skipped.threads += times * idle;
          skipped.threads_in_all += times * 32;
          skipped.warps += times * (idle == 32);
          skipped.warps_in_all += times;
        }
      }
    }
  }
  return skipped;
}

LiveBlocks live_blocks(const MaskedBmm& p, const Mask& mask, int64_t tile_rows) {
  const std::vector<Kept> kept = coarse_mask_reference(mask, p.M, p.N, BLOCK);
  const int64_t down = ceil_div(p.M, BLOCK), across = ceil_div(p.N, BLOCK);
  const int64_t times = p.mask_per_batch ? 1 : p.batch;
  LiveBlocks live;
  for (int64_t i = 0; i < p.masks() * down * across; ++i) {
    if (kept[i] == Kept::none) continue;
    live.count += times;
    const int64_t block = i % (down * across);
    const int64_t rows = std::min<int64_t>(p.M - block / across * BLOCK, BLOCK);
    const int64_t cols = std::min<int64_t>(p.N - block % across * BLOCK, BLOCK);
    const int64_t read = rows + ceil_div(rows, tile_rows) * cols;
    live.beyond_edges += times * (BLOCK + BLOCK / tile_rows * BLOCK - read);
  }
  return live;
}

std::string share(int64_t part, int64_t whole) {
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f", whole == 0 ? 0.0 : 100.0 * part / whole);
  return std::to_string(part) + " of " + std::to_string(whole) + " (" + percent + " %)";
}

std::vector<std::string> skipped_text(const Skipped& skipped) {
  return {"skipped: blocks " + share(skipped.blocks, skipped.blocks_in_all),
          "  in the other blocks: threads " + share(skipped.threads, skipped.threads_in_all) +
              ", whole warps " + share(skipped.warps, skipped.warps_in_all)};
}

}  // namespace tutorial::masked_bmm
