// In which order blocks that stay take tiles of queries: tickets 0, 1, 2, …
//
// With a causal mask a tile of queries takes as long as the keys that it sees. Long ones that begin
// last make all others wait; so the longest come first. But tiles of many heads at once read keys
// and values of many heads, more than the L2 cache has room for. So heads go in sections that fit,
// and in each the longest come first:
//
//             section 0: heads 0 … 15        section 1: heads 16 … 31
//   tile 3    0  1  2 … 15                   64 65 …
//   tile 2   16 17 18 … 31                   80 …          numbers: tickets
//   tile 1   32 …
//   tile 0   48 …
//
// Without a mask all are as long: there a section is one group of heads, which share their keys.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "hopper/hopper.hpp"

namespace tutorial::flash_attention::hopper {

struct Schedule {
  int64_t heads, tiles;  // of queries a head
  int64_t section;       // heads
  /// The next ticket, in the workspace. The launcher begins with 0.
  unsigned long long* next_ticket = nullptr;

  __host__ __device__ int64_t tickets() const { return heads * tiles; }

  /// The ticket's head, and its tile of queries.
  struct Place {
    int64_t head, tile;
  };
  __host__ __device__ Place place(int64_t ticket) const {
    const int64_t begun = ticket / (section * tiles) * section;  // heads before this section
    const int64_t here = heads - begun < section ? heads - begun : section;
    const int64_t within = ticket - begun * tiles;
    return {begun + within % here, tiles - 1 - within / here};
  }
};

/// Bytes of keys and values that stay in the L2 cache beside all else: an H100's has 50 MB.
inline constexpr int64_t SECTION_BYTES = int64_t{32} << 20;

/// The schedule of tiles of Br queries.
inline Schedule schedule_of(const Attention& shape, int Br) {
  const int64_t heads = shape.B * shape.NH, group = std::max<int64_t>(shape.group(), 1);
  const int64_t bytes = std::max<int64_t>(2 * shape.Tk * shape.HS * int64_t{sizeof(bf16)}, 1);
  const int64_t groups = shape.causal ? std::max<int64_t>(SECTION_BYTES / bytes, 1) : 1;
  return {.heads = heads,
          .tiles = (shape.Tq + Br - 1) / Br,
          .section = std::max<int64_t>(std::min(groups * group, heads), 1)};
}

}  // namespace tutorial::flash_attention::hopper
