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

inline const std::vector<Step<Launcher>> steps = {
    {.name = "larger_tiles",
     .launch = larger_tiles,
     .idea = "8 rows a thread, 128 queries a block: as the memory allows"},
    {.name = "less_work",
     .launch = less_work,
     .idea = "a warp skips what the mask hides from its rows; a shorter softmax"},
    {.name = "read_ahead",
     .launch = read_ahead,
     .idea = "reads of shared memory take half the turns, and begin a round ahead"},
    {.name = "spread_copies",
     .launch = spread_copies,
     .idea = "the copies begin a few at a time, amid the products"},
    {.name = "outer_products",
     .launch = outer_products,
     .idea = "Q, K, P transposed: registers for a product from both banks"},
};

}  // namespace tutorial::flash_attention::faster
