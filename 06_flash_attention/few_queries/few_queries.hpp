// Part few_queries of chapter 06: part tensor_cores' attention in bf16, where a head has few
// queries and many keys, as when a model writes one word after another. Each key is then used a few
// times only, and what counts is how fast K and V come.
//
// Problem, types and roundings are part tensor_cores', and so is what a launcher promises.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernel/workspace.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::few_queries {

using tensor_cores::bf16;

/// The step that step 1 goes on from, of part tensor_cores.
inline constexpr const char* after = "tensor_cores/head_sizes";

/// As part hopper's launchers: with a workspace of workspace_bytes(), or Error where a step needs
/// more than it has. Head sizes are multiples of 8 up to 256, and queries may be many: then K and V
/// are read again for each 64 rows. Tensors that do not begin at multiples of 16 bytes go to part
/// tensor_cores' any_address. clusters throws Error before compute capability 9.0.
using Launcher = hopper::Launcher;

Launcher packed_rows, split_keys, warps_share, clusters, by_shape;

Asks<Launcher> packed_rows_asks, split_keys_asks, warps_share_asks, clusters_asks, by_shape_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "packed_rows",
     .launch = packed_rows,
     .asked = packed_rows_asks,
     .idea = "the queries of all heads that share keys are rows of one tile",
     .needs = "sm_80"},
    {.name = "split_keys",
     .launch = split_keys,
     .asked = split_keys_asks,
     .idea = "several blocks share a head's keys, so that all multiprocessors read",
     .needs = "sm_80"},
    {.name = "warps_share",
     .launch = warps_share,
     .asked = warps_share_asks,
     .idea = "four warps share a tile's keys, and add up in shared memory",
     .needs = "sm_80"},
    {.name = "clusters",
     .launch = clusters,
     .asked = clusters_asks,
     .idea = "the blocks that share keys are a cluster, and read each other's sums",
     .needs = "sm_90"},
    {.name = "by_shape",
     .launch = by_shape,
     .asked = by_shape_asks,
     .idea = "the fastest by an estimate, of these, part hopper and part tensor_cores",
     .needs = "sm_80"},
};

/// The bytes that any step needs at most on this device: those of the parts' sums.
int64_t workspace_bytes(const Attention& shape);

// ---- The rules, for a device of so many multiprocessors.

/// Rows of a tile: 16, or 64 where a head of k and v has more. Its rows are the group()·Tq queries
/// of the heads that share it.
int64_t rows_of_tile(const Attention& shape);

/// A part of the keys is a multiple of this, which is a multiple of every tile's keys.
inline constexpr int64_t STEP_KEYS = 128;
/// A cluster has so many blocks at most, on any device that has clusters.
inline constexpr int64_t MOST_OF_CLUSTER = 8;

/// For how many blocks a multiprocessor keys are cut: in step 2, whose blocks have a warp or a few,
/// and in step 3. In step 4 it is one.
inline constexpr int64_t BLOCKS_OF_WARPS = 6;
int64_t blocks_of_four_warps(const Attention& shape);

/// How the keys of `tiles` tiles of rows are cut: in `parts` of `keys` each, of which the last may
/// have fewer. At most `most` parts, for a device that has so many blocks at a time.
struct Split {
  int64_t tiles, parts, keys;
};
Split split_of(const Attention& shape, int64_t blocks_at_a_time, int64_t most = INT64_MAX);

/// What by_shape takes: the way whose estimated time is the shortest (ways.cpp).
enum class Way { clusters, warps_share, hopper, tensor_cores };
Way way_of(const Attention& shape, bool aligned, int capability, int multiprocessors);

}  // namespace tutorial::flash_attention::few_queries
