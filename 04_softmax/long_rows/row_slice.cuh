// How a block of steps 1 to 3 finds its part of a row, and room for it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::softmax::long_rows {

/// Throws Error where blocks form no clusters: they came with compute capability 9.0.
inline void require_clusters(const char* step) {
  if (compute_capability() < 90)
    throw Error(std::string(step) +
                " needs clusters of blocks, of compute capability 9.0 or newer; take any_row.");
}

inline constexpr int LINE = 8;  // float4 in 128 bytes, which is what the L2 cache calls a line

/// One block's part of a row, as one of its threads sees it. The block has slots for float4, slot 0
/// on a 128-byte boundary, so that a warp's 32 float4 are 4 lines and not parts of 5.
struct Slice {
  int start;       // of slot 0, in floats from the row's first; below 0 where the row starts later
  int first, end;  // the thread's slots are first, first + blockDim.x, … below end
  int edge;        // a column before or behind all whole float4 that is this thread's; -1: none
};

/// The part of block `rank` of the `blocks` that share `row`.
__device__ inline Slice slice(const float* row, int cols, int blocks, int rank) {
  const int past = static_cast<int>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % (4 * LINE));
  const int head = min((4 - past % 4) % 4, cols);  // floats before the first 16-byte boundary
  const int whole = (cols - head) / 4;             // float4
  const int edges = cols - 4 * whole;              // at most 3 floats before and 3 behind

  // Slots from the line's start to the first whole float4, and lines from there to the last.
  const int lead = (past + head) / 4 % LINE;
  const int lines = (lead + whole + LINE - 1) / LINE;
  const int share = (lines + blocks - 1) / blocks * LINE;  // slots that each block uses
  const int skipped = rank * share;                        // and those before this one
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  Slice part;
  part.start = head + 4 * (skipped - lead);
  part.first = rank == 0 && thread < lead ? thread + threads : thread;
  part.end = min(share, lead + whole - skipped);
  part.edge = rank > 0 || thread >= edges ? -1 : thread < head ? thread : thread + 4 * whole;
  return part;
}

/// Slots that each of `blocks` blocks must have for a row of `cols`, wherever it starts.
inline int64_t slots_for(int64_t cols, int64_t blocks) {
  const int64_t lines = (cols / 4 + LINE - 1 + LINE - 1) / LINE;
  return (lines + blocks - 1) / blocks * LINE;
}

/// Bytes of dynamic shared memory that a block can have beside the `taken` ones of its arrays.
inline int64_t room_in_shared(size_t taken) {
  return shared_memory_limit() - static_cast<int64_t>(taken);
}

/// Stores four floats. `wide` says that `to` is on a 16-byte boundary.
__device__ inline void store_four(float* to, float4 four, bool wide) {
  if (wide) {
    store4_whole(to, four);
  } else {
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }
}

/// Do x and y start equally far past a 16-byte boundary? Then so do their rows.
inline bool equally_aligned(const float* x, const float* y) {
  return (reinterpret_cast<uintptr_t>(x) - reinterpret_cast<uintptr_t>(y)) % 16 == 0;
}

}  // namespace tutorial::softmax::long_rows
