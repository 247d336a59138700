// Part any_shape of chapter 06: every head size up to 256 at its own cost, and few queries.
//
// Problem and reference are the road's (06_flash_attention.hpp). Head sizes and addresses that a
// step has no kernel for it hands on: to a step of part faster, or to the road's q_outer.
#pragma once

#include <cstdint>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/kernel/workspace.hpp"
#include "faster/faster.hpp"

namespace tutorial::flash_attention::any_shape {

/// The step that step 1 goes on from, of part faster.
inline constexpr const char* after = "faster/outer_products";

/// Does what the road's launcher does, all in the stream. split_keys needs a workspace, and so may
/// by_shape: a smaller one than workspace_bytes() says is an Error, too. Lengths of sequences only
/// lengths takes.
using Launcher = void(const Attention& shape, const float* q, const float* k, const float* v,
                      float* out, float* lse, Workspace workspace, cudaStream_t stream);

Launcher head_sizes, large_heads, own_keys, group_rows, split_keys, by_shape, lengths;

/// How many bytes of workspace any step needs, on this device.
int64_t workspace_bytes(const Attention& shape);

Asks<Launcher> large_heads_asks, own_keys_asks, group_rows_asks, split_keys_asks, by_shape_asks,
    lengths_ask;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "head_sizes",
     .launch = head_sizes,
     .asked = faster::by_whole_tiles,
     .idea = "every head size in steps of 8, up to 128, at its own cost"},
    {.name = "large_heads",
     .launch = large_heads,
     .asked = large_heads_asks,
     .idea = "head sizes up to 256: half as many keys in a tile"},
    {.name = "own_keys",
     .launch = own_keys,
     .asked = own_keys_asks,
     .idea = "few queries: small tiles, and each warp has keys of its own"},
    {.name = "group_rows",
     .launch = group_rows,
     .asked = group_rows_asks,
     .idea = "heads that share keys are rows of one tile"},
    {.name = "split_keys",
     .launch = split_keys,
     .asked = split_keys_asks,
     .idea = "blocks share the keys of a tile, and a second kernel merges"},
    {.name = "by_shape",
     .launch = by_shape,
     .asked = by_shape_asks,
     .idea = "large_heads or split_keys, whichever the shape suits"},
    {.name = "lengths",
     .launch = lengths,
     .asked = lengths_ask,
     .idea = "a length for each sequence: a padded batch without work for the padding",
     .features = LENGTHS},
};

}  // namespace tutorial::flash_attention::any_shape
