// What both steps do with tiles in shared memory, counting as they go: each function tells `count`
// what it does, where it does it. The timed kernels get a NoCount, whose functions are empty.
#pragma once

#include <string>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/error.hpp"
#include "joint/joint.hpp"

namespace tutorial::flash_attention::joint {

inline constexpr int SIDE = 16, THREADS = SIDE * SIDE;  // 16 × 16 threads

/// Counts nothing and costs nothing.
struct NoCount {
  __device__ void flop(int) {}
  __device__ void access() {}
  __device__ void finish() {}
};

/// Each thread counts for itself, and adds to the totals when it is done.
struct Count {
  unsigned long long* totals;  // FLOP, accesses
  unsigned long long flops = 0, accesses = 0;
  __device__ void flop(int operations) { flops += operations; }
  __device__ void access() { ++accesses; }
  __device__ void finish() {
    atomicAdd(&totals[0], flops);
    atomicAdd(&totals[1], accesses);
  }
};

/// Copies a (height, width) part of a (rows, cols) matrix, from (row0, col0), to shared memory;
/// zeros where it lies past the matrix's edges.
template <class Counter>
__device__ void load_tile(float* tile, int height, int width, const float* matrix, int64_t row0,
                          int64_t col0, int64_t rows, int64_t cols, Counter& count) {
  for (int e = threadIdx.x; e < height * width; e += THREADS) {
    const int64_t row = row0 + e / width, col = col0 + e % width;
    tile[e] = 0.0f;
    if (row < rows && col < cols) {
      tile[e] = matrix[row * cols + col];
      count.access();
    }
  }
}

/// sums += left·right, (b, length) by (length, b), for the elements (ty + 16·i, tx + 16·j) that
/// this thread has.
template <int b, class Counter>
__device__ void add_product(float (&sums)[b / SIDE][b / SIDE], const float* left,
                            const float* right, int length, Counter& count) {
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int x = 0; x < length; ++x)
#pragma unroll
    for (int i = 0; i < b / SIDE; ++i)
#pragma unroll
      for (int j = 0; j < b / SIDE; ++j) {
        sums[i][j] += left[(ty + SIDE * i) * length + x] * right[x * b + tx + SIDE * j];
        count.flop(2);
      }
}

/// Writes the (b, b) tile of a (rows, cols) matrix that begins at (row0, col0).
template <int b, class Counter>
__device__ void store_tile(const float (&sums)[b / SIDE][b / SIDE], float* matrix, int64_t row0,
                           int64_t col0, int64_t rows, int64_t cols, Counter& count) {
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int i = 0; i < b / SIDE; ++i)
    for (int j = 0; j < b / SIDE; ++j) {
      const int64_t row = row0 + ty + SIDE * i, col = col0 + tx + SIDE * j;
      if (row < rows && col < cols) {
        matrix[row * cols + col] = sums[i][j];
        count.access();
      }
    }
}

/// Calls `launch` with b, one of TILES, as a compile-time constant.
template <class Launch>
void with_tile(int b, const Launch& launch) {
  if (b == 16) return launch.template operator()<16>();
  if (b == 32) return launch.template operator()<32>();
  if (b == 64) return launch.template operator()<64>();
  throw Error("a tile of " + std::to_string(b) + " is not one of 16, 32, 64.");
}

/// Runs `launch` with a Count and returns its totals.
template <class Launch>
Tally counted(const Launch& launch) {
  DeviceBuffer<unsigned long long> totals(std::vector<unsigned long long>{0, 0});
  launch(Count{totals.data()});
  const std::vector<unsigned long long> host = totals.to_host();
  return {static_cast<int64_t>(host[0]), static_cast<int64_t>(host[1])};
}

}  // namespace tutorial::flash_attention::joint
