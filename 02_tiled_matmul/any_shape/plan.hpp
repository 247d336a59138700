// Which tile, in how many parts: the choice of step 4, and what it estimates.
#pragma once

#include <cstdint>

#include "any_shape/any_shape.hpp"

namespace tutorial::tiled_matmul::any_shape {

/// A way to compute C.
struct Plan {
  int tile = 0;         // index in `tiles`
  int64_t parts = 1;    // of K
  bool copy_b = false;  // into aligned rows, as in step 2
  double us = 1e30;     // how long it should take, in microseconds
};

/// A tile of step 4, and how fast it was on an H200.
struct TileSpeed {
  int BM, BN;         // elements of C a block
  int BK;             // elements of K at a time
  int warps;          // of a block
  int blocks_per_sm;  // so many share a multiprocessor at once
  double alone;       // microseconds for 1000 elements of K: a block that has it for itself
  double together;    // … a block's share of it where it is full
  double unaligned;   // times as much where rows of B begin anywhere
};
inline constexpr TileSpeed tiles[] = {
    {128, 256, 8, 8, 1, 159, 139, 1.10},    // faster/spread_copies's
    {64, 128, 16, 4, 3, 52.0, 41.0, 1.12},  // step 1's small one
    {128, 64, 16, 4, 3, 54.0, 42.4, 1.04},  // for few columns
    {96, 96, 16, 3, 4, 75.0, 53.6, 1.00},   // for what lies in between
    {32, 256, 16, 4, 3, 50.7, 41.2, 1.34},  // for few rows
    {16, 256, 16, 4, 4, 60.0, 25.0, 1.80},  // for very few
};

/// The plan that should be done first on a device of so many multiprocessors. `aligned_b`: rows of
/// B begin at multiples of 16 bytes. C is not empty.
Plan best_plan(int64_t M, int64_t N, int64_t K, bool aligned_b, int multiprocessors);

/// Step 4's plan on this device. C is not empty.
Plan plan_of(const ScaledProduct& product, const float* B);

/// The bytes that a plan wants of the workspace, for a copy of B and for parts.
int64_t workspace_bytes(const Plan& plan, const ScaledProduct& product);

/// Step 4 by a plan of the caller's; step 1 where the workspace is too small for it.
void thin_tiles_as(const Plan& plan, const ScaledProduct& product, const float* A, const float* B,
                   float* C, Workspace workspace, cudaStream_t stream);

}  // namespace tutorial::tiled_matmul::any_shape
