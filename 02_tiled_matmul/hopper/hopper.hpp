// Part hopper of chapter 02: part tensor_cores' problem, C = A·B from bf16 numbers, with what
// compute capability 9.0 brought: the TMA unit copies whole tiles, a warpgroup of 128 threads
// multiplies them where they lie, and barriers that count bytes hand them over.
//
// Sizes, types, and what a launcher promises are part tensor_cores'.
#pragma once

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::hopper {

using tensor_cores::bf16, tensor_cores::Bf16Product, tensor_cores::Launcher, tensor_cores::Output;
using tensor_cores::workspace_bytes;  // more than 0 only where TMA does not take A and B

/// The step that step 1 goes on from.
inline constexpr const char* after = "tensor_cores/by_shape";

// The TMA unit takes matrices whose rows begin at multiples of 16 bytes. So these steps do where A,
// B and C begin at multiples of 16 bytes and N and K are multiples of 8 below 2^30; anything else
// goes the way of part tensor_cores' by_shape. Throw Error where compute capability is not 9.0.
Launcher warpgroup, producer, persistent, clusters, stored_behind, by_shape;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "warpgroup",
     .launch = warpgroup,
     .idea = "TMA brings the tiles, and one instruction of four warps multiplies them there",
     .tile = {.rows = 64, .cols = 256},
     .needs = "sm_90a"},
    {.name = "producer",
     .launch = producer,
     .idea = "one thread only loads, two warpgroups only multiply, a ring of stages",
     .tile = {.rows = 128, .cols = 256},
     .needs = "sm_90a"},
    {.name = "persistent",
     .launch = persistent,
     .idea = "as many blocks as multiprocessors, which take tile after tile",
     .needs = "sm_90a"},
    {.name = "clusters",
     .launch = clusters,
     .idea = "two blocks need the same tile of B: each loads half of it for both",
     .needs = "sm_90a"},
    {.name = "stored_behind",
     .launch = stored_behind,
     .idea = "TMA stores C while the next tile is multiplied",
     .needs = "sm_90a"},
    {.name = "by_shape",
     .launch = by_shape,
     .idea = "the tile with which the busiest multiprocessor is done first",
     .needs = "sm_90a"},
};

/// How many columns of C the tiles of step 6 have, on a device of so many multiprocessors.
int columns_of_tile(int64_t M, int64_t N, int multiprocessors);

/// The letters in the steps' headers: part tensor_cores' own; step 6's tile, ROWS × BN, where ROWS
/// are those that a cluster has.
tensor_cores::Symbols symbols_of;

}  // namespace tutorial::tiled_matmul::hopper
