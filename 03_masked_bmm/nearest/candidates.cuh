// Candidates of a row, in any order: the steps from 8 on find them, and candidates.cu chooses.
#pragma once

#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

/// One more candidate of a row. Beyond the room they are only counted.
__device__ inline void write_out(const Candidates& to, int64_t row, int point) {
  const int place = atomicAdd(&to.count[row], 1);
  if (place < to.room) to.points[row * to.room + place] = point;
}

/// A warp's candidates wait here until there are some: then 32 lanes go to global memory at once,
/// and no lane waits for an atomic alone.
struct Waiting {
  static constexpr int ROOM = 128, ENOUGH = 64;
  int count;
  int point[ROOM];
  int64_t row[ROOM];
};

/// By one lane.
__device__ inline void put(Waiting& waiting, const Candidates& to, int64_t row, int point) {
  const int place = atomicAdd(&waiting.count, 1);
  if (place < Waiting::ROOM)
    waiting.row[place] = row, waiting.point[place] = point;
  else
    write_out(to, row, point);  // seldom
}

/// By all lanes of the warp: writes what waits, if it is `enough` or more.
__device__ inline void write_waiting(Waiting& waiting, const Candidates& to, int enough) {
  __syncwarp();
  const int count = waiting.count;
  if (count < enough) return;
  for (int place = threadIdx.x % 32; place < min(count, Waiting::ROOM); place += 32)
    write_out(to, waiting.row[place], waiting.point[place]);
  __syncwarp();
  if (threadIdx.x % 32 == 0) waiting.count = 0;
  __syncwarp();
}

}  // namespace tutorial::masked_bmm::nearest
