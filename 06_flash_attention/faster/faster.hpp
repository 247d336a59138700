// Part faster of chapter 06: the road's kernel with larger tiles, and what feeds them.
//
// Problem, reference and launcher are the road's (06_flash_attention.hpp). Head sizes up to 128. A
// step has tiles as large as the device has shared memory for, and at least those for 64 KB.
#pragma once

#include <vector>

#include "06_flash_attention.hpp"

namespace tutorial::flash_attention::faster {

/// The road's step that step 1 goes on from.
inline constexpr const char* after = "two_buffers";

Launcher larger_tiles, less_work, read_ahead, spread_copies, outer_products;

/// outer_products in a stream, for part any_shape.
void outer_products_on(const Attention& shape, const float* q, const float* k, const float* v,
                       float* out, float* lse, cudaStream_t stream);

/// Keys of a tile; a smaller device may have smaller tiles.
inline int64_t keys_of_tile(const Attention& s) {
  return s.HS > 64 ? 128 : 64;
}
/// In tiles of 128 queries: each reads all keys that it sees.
template <class... Rest>
std::vector<Asked> by_large_tiles(const Attention& s, Rest...) {
  Asked asked = {.loads = 4 * s.B * s.NH * s.HS * (s.Tq + 2 * s.Tk * ceil_div(s.Tq, 128)),
                 .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)};
  asked.loads -= 8 * s.B * s.NH * s.HS * hidden_keys(s, 128, keys_of_tile(s));
  return {asked};
}
/// The same where what is read of a last tile that has fewer keys is as long as another's.
template <class... Rest>
std::vector<Asked> by_whole_tiles(const Attention& s, Rest...) {
  const int64_t Bc = keys_of_tile(s);
  Asked asked = {
      .loads = 4 * s.B * s.NH * s.HS * (s.Tq + 2 * Bc * ceil_div(s.Tk, Bc) * ceil_div(s.Tq, 128)),
      .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)};
  asked.loads -= 8 * s.B * s.NH * s.HS * hidden_keys(s, 128, Bc, true);
  return {asked};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "larger_tiles",
     .launch = larger_tiles,
     .asked = by_large_tiles,
     .idea = "8 rows a thread, 128 queries a block: as the memory allows"},
    {.name = "less_work",
     .launch = less_work,
     .asked = by_large_tiles,
     .idea = "a warp skips what the mask hides from its rows; a shorter softmax"},
    {.name = "read_ahead",
     .launch = read_ahead,
     .asked = by_large_tiles,
     .idea = "reads of shared memory take half the turns, and begin a round ahead"},
    {.name = "spread_copies",
     .launch = spread_copies,
     .asked = by_whole_tiles,
     .idea = "the copies begin a few at a time, amid the products"},
    {.name = "outer_products",
     .launch = outer_products,
     .asked = by_whole_tiles,
     .idea = "Q, K, P transposed: registers for a product from both banks"},
};

}  // namespace tutorial::flash_attention::faster
