// Part hopper of chapter 6: the attention of part tensor_cores on what compute capability 9.0a has
// besides: products by warpgroups (wgmma), copies by the TMA unit, barriers that count.
//
// Problem, roundings and reference are those of part tensor_cores (tensor_cores/tensor_cores.hpp).
// Other GPUs have none of this: see its steps for them.
#pragma once

#include <vector>

#include "common/kernel/workspace.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::hopper {

using tensor_cores::bf16, tensor_cores::by_bf16_tiles;

/// The step that step 1 goes on from, of part tensor_cores.
inline constexpr const char* after = "tensor_cores/lazy_rescale";

// ---- the steps

/// As part tensor_cores' launchers, with a workspace of workspace_bytes() bytes: the steps from 7
/// on throw Error when out is not empty and it has less. Two launches that may run at the same time
/// have one each. Unaligned tensors only the steps from head_sizes on take, strides layouts and
/// lengths, and lengths of sequences only lengths.
using Launcher = void(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                      bf16* out, float* lse, Workspace workspace, cudaStream_t stream);

Launcher warpgroups, setmaxnreg, taking_turns, overlapped, persistent, query_ring, tickets,
    longest_first, tile_stores, three_consumers, head_sizes, layouts, lengths;

Asks<Launcher> three_consumers_ask, head_sizes_ask, layouts_ask, lengths_ask;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "warpgroups",
     .launch = warpgroups,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "one thread loads by TMA, two warpgroups multiply by wgmma, barriers between them",
     .needs = "sm_90a"},
    {.name = "setmaxnreg",
     .launch = setmaxnreg,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "the loading warpgroup gives its registers to those that multiply",
     .needs = "sm_90a"},
    {.name = "taking_turns",
     .launch = taking_turns,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "one warpgroup multiplies while the other one has its softmax",
     .needs = "sm_90a"},
    {.name = "overlapped",
     .launch = overlapped,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "the softmax of a tile during the product with the values before it",
     .needs = "sm_90a"},
    {.name = "persistent",
     .launch = persistent,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "blocks stay: the next keys come while the last products end",
     .needs = "sm_90a"},
    {.name = "query_ring",
     .launch = query_ring,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "two places for queries: the next ones come while the last products end, too",
     .needs = "sm_90a"},
    {.name = "tickets",
     .launch = tickets,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "blocks take their tiles of queries by tickets, whoever is done the next one",
     .needs = "sm_90a"},
    {.name = "longest_first",
     .launch = longest_first,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "tickets go by the longest tiles of some heads first",
     .needs = "sm_90a"},
    {.name = "tile_stores",
     .launch = tile_stores,
     .asked = by_bf16_tiles<128, 128>,
     .idea = "O goes out by TMA, through the place of its queries",
     .needs = "sm_90a"},
    {.name = "three_consumers",
     .launch = three_consumers,
     .asked = three_consumers_ask,
     .idea = "heads up to 64: two warpgroups have their softmax while one multiplies",
     .needs = "sm_90a"},
    {.name = "head_sizes",
     .launch = head_sizes,
     .asked = head_sizes_ask,
     .idea = "head sizes up to 256, each with tiles of its own",
     .needs = "sm_90a"},
    {.name = "layouts",
     .launch = layouts,
     .asked = layouts_ask,
     .idea = "strides: maps of four dimensions, heads and tokens any number of elements apart",
     .needs = "sm_90a",
     .features = STRIDES},
    {.name = "lengths",
     .launch = lengths,
     .asked = lengths_ask,
     .idea = "a length for each sequence: a padded batch without work for the padding",
     .needs = "sm_90a",
     .features = STRIDES | LENGTHS},
};

/// The bytes that any step needs at most: a counter of tickets.
int64_t workspace_bytes(const Attention& shape);

/// The largest head size of a step; all of them take multiples of 8.
inline int64_t largest_head_size(Launcher* step) {
  return step == head_sizes || step == layouts || step == lengths ? 256 : 128;
}

/// How many queries of a head a block of the steps from 10 on takes: 128 or 192.
int64_t queries_of_block(const Attention& shape);

}  // namespace tutorial::flash_attention::hopper
