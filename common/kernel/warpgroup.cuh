// How the warps of a block share it: who works, who may have how many registers, and barriers of
// some warps only.
#pragma once

#include <ptx_hopper.h>

namespace tutorial {

inline constexpr int WARPGROUP = 128;  // threads: four warps, from a multiple of four on

/// True in one lane of a warp, and false in the others. All 32 come to it together. (PTX ISA,
/// "elect.sync".) Compute capability 9.0.
__device__ __forceinline__ bool elect_one() {
  return ptx::elect_one();
}

/// A block begins with the registers that its launch bounds leave each thread. From here on the
/// threads of this warpgroup use no more than COUNT, a multiple of 8 from 24 to 256, and give the
/// others back to the block:
///
///   begin                                     after it: 65536 registers an SM
///   ┌──────────┬──────────┬──────────┐        ┌──┬─────────────────┬─────────────────┐
///   │ producer │ consumer │ consumer │        │24│ 240             │ 240             │
///   │ 168      │ 168      │ 168      │        └──┴─────────────────┴─────────────────┘
///   └──────────┴──────────┴──────────┘        168 · 3 = 504 = 24 + 240 + 240
///
/// All of the warpgroup come to it together. (PTX ISA, "setmaxnreg".) Compute capability 9.0a.
template <int COUNT>
__device__ __forceinline__ void give_registers() {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "setmaxnreg takes 24, 32, … 256");
  ptx::setmaxnreg_dec<COUNT>();
}
/// The threads of this warpgroup use up to COUNT registers; waits until others have given them.
template <int COUNT>
__device__ __forceinline__ void take_registers() {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "setmaxnreg takes 24, 32, … 256");
  ptx::setmaxnreg_inc<COUNT>();
}

/// A barrier of `threads` threads, whole warps: number 1 … 15 (0 is __syncthreads()'s own). The
/// threads that arrive count and go on; those at named_sync() wait for all. (PTX ISA, "bar.sync",
/// "bar.arrive".)
///
///   warpgroup 1   named_sync(1, 256) ── works ── named_arrive(2, 256)
///   warpgroup 2   named_arrive(1, 256)           named_sync(2, 256) ── works ──
__device__ __forceinline__ void named_sync(int barrier, int threads) {
  ptx::bar_sync(barrier, threads);
}
__device__ __forceinline__ void named_arrive(int barrier, int threads) {
  ptx::bar_arrive(barrier, threads);
}

}  // namespace tutorial
