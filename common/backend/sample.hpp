// A few blocks of each grid in place of all: what a launch at a GPU's size asks for, in the time
// that a simulator takes for a small one. Only the CPU backend does this
// (common/simulator/count/sample.cpp); what the kernels leave in memory is then incomplete.
#pragma once

#include <cstdint>
#include <vector>

#include "common/backend/planned_launches.hpp"
#include "common/backend/profile.hpp"

namespace tutorial {

/// How many loads' sectors the L1 cache would have to fetch if each warp had so much of it.
inline constexpr int64_t kShareOfL1[] = {2048, 8192, 32768};  // bytes

/// What a block touches of one allocation: different sectors of 32 bytes, the mean of the sample.
struct Touched {
  double allocated = 0;  // bytes of the allocation
  double loaded = 0, stored = 0;
  /// Of the loaded ones: the share that the next block along x, y and z loads, too.
  double shared[3] = {};
};

/// Floating-point instructions of warps, as a GPU would make them of the source.
struct FloatWork {
  int64_t products = 0;   // multiply-adds, and what stands alone; minimum and maximum
  int64_t divisions = 0;  // and square roots
  int64_t functions = 0;  // exponential functions and logarithms

  FloatWork& operator+=(const FloatWork& other) {
    products += other.products;
    divisions += other.divisions;
    functions += other.functions;
    return *this;
  }
};

/// One launch. Figures are those of all its blocks: the sample's, multiplied. In a cluster "a
/// block" is a cluster.
struct SampledLaunch : PlannedLaunch {
  int64_t sampled = 0;  // blocks that ran for the counts

  Counts counts = {};         // of those that ran: not multiplied
  int64_t steps = 0;          // likewise: basic blocks of the program that its warps entered
  FloatWork arithmetic = {};  // likewise
  /// Likewise: multiply-adds on tensor cores, of bf16 or fp16 (one of TF32 counts as two), by a
  /// warp (mma, wmma) and by a warpgroup (wgmma).
  int64_t by_warps = 0, by_warpgroups = 0;
  int64_t lines = 0;  // passes of loads and stores through L1, 128 bytes each
  int64_t merged_loads = 0, merged_passes = 0;  // of shared memory, as nvcc merges neighbours
  int64_t longest = 0;                          // the steps of the block that took most
  int64_t past_l1 = 0;       // sectors that do not go through L1: 16-byte copies, TMA
  double missed_l1[3] = {};  // sectors of loads that L1 does not have, by kShareOfL1
  std::vector<Touched> touched = {};

  int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  double factor() const {
    return sampled > 0 ? static_cast<double>(blocks()) / static_cast<double>(sampled) : 0;
  }
};

/// From now on only four of each grid's blocks run, from all over it, and the neighbours of one of
/// them.
void start_sample();
/// The launches since, in their order; from now on all blocks run again.
std::vector<SampledLaunch> take_sample();

}  // namespace tutorial
