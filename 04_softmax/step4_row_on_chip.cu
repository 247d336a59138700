// Step 4 = step 2 + the row stays in registers, so that each element is read once and written once,
// 16 bytes at a time.
//
// FLOP            5 an element: maximum, subtract, exp, add, multiply
// global memory   8 bytes an element, the least there is, 0.6 FLOP a byte
// asked for       loads 4·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   256 bytes; and up to 32 floats of the row in the registers of each thread
// block           1 row, 32 to 1024 threads
// H200            0.128 ms for 16384 × 4096, 98 % of a plain copy
// long diff       another way to hold a row, so each loop over it is another, too
//
// A row of more than 1024 · 32 elements does not fit and goes step 3's way.
#include <algorithm>
#include <cstdint>

#include "04_softmax.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "common/kernel/vector4.cuh"
#include "four_floats.cuh"

namespace tutorial::softmax {
namespace {

constexpr int VECTORS = 8;  // float4 that a thread holds

/// How many floats a row starts past a 16-byte boundary: 0 to 3. A float4 can be loaded and stored
/// at a boundary only, and where cols is odd every row starts at another distance from one.
__host__ __device__ int past_boundary(const float* row) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % 4);
}

/// Elements c to c + 3 of a row, where `row + c` is on a boundary; -infinity, which adds nothing to
/// maximum and sum, for those outside the row. Only the row's two ends are loaded float by float.
__device__ float4 load_in_row(const float* row, int c, int cols) {
  if (c >= 0 && c + 4 <= cols) return load4(row + c);
  float4 four = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  if (c >= 0 && c < cols) four.x = row[c];
  if (c + 1 >= 0 && c + 1 < cols) four.y = row[c + 1];
  if (c + 2 >= 0 && c + 2 < cols) four.z = row[c + 2];
  if (c + 3 >= 0 && c + 3 < cols) four.w = row[c + 3];
  return four;
}

/// The counterpart. `wide` says that `row + c` is on a boundary.
__device__ void store_in_row(float* row, int c, int cols, float4 four, bool wide) {
  if (wide && c >= 0 && c + 4 <= cols) return store4_whole(row + c, four);
  if (c >= 0 && c < cols) row[c] = four.x;
  if (c + 1 >= 0 && c + 1 < cols) row[c + 1] = four.y;
  if (c + 2 >= 0 && c + 2 < cols) row[c + 2] = four.z;
  if (c + 3 >= 0 && c + 3 < cols) row[c + 3] = four.w;
}

template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    row_on_chip_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int cols,
                       bool wide_stores) {
  __shared__ float max_slots[MAX_WARPS];
  __shared__ float sum_slots[MAX_WARPS];

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * cols;
    float* out = y + row * cols;
    // Thread t holds the vectors t, t + THREADS, … of the row, counted from the last boundary at or
    // before the row's start.
    const int first = 4 * static_cast<int>(threadIdx.x) - past_boundary(in);

    // The loads stand together, before the first use, so that all are under way at once. The loops
    // are unrolled because an array indexed at run time cannot live in registers.
    float4 held[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) held[v] = load_in_row(in, first + 4 * THREADS * v, cols);

    float max = -INFINITY;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) max = fmaxf(max, max_of(held[v]));
    max = block_max(max, max_slots);

    float sum = 0;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      held[v] = exp_of(held[v], max);
      sum += sum_of(held[v]);
    }
    const float scale = 1 / block_sum(sum, sum_slots);

#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
      store_in_row(out, first + 4 * THREADS * v, cols, scaled(held[v], scale), wide_stores);
  }
}

template <int THREADS>
void launch(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  const int64_t blocks = std::min(rows, grid_limit.x);
  // The vectors follow x's boundaries. They are y's too where x and y start at the same distance
  // from one; otherwise y is stored float by float.
  const bool wide_stores = past_boundary(x) == past_boundary(y);
  row_on_chip_kernel<THREADS>
      <<<blocks, THREADS, 0, stream>>>(x, y, rows, static_cast<int>(cols), wide_stores);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void row_on_chip_on(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  if (rows == 0 || cols == 0) return;
  // The vectors also cover what lies between the boundary and the row's start, up to 3 floats.
  const bool starts_on_boundary = past_boundary(x) == 0 && cols % 4 == 0;
  const int64_t covered = starts_on_boundary ? cols : cols + 3;
  if (covered <= 32 * 4 * VECTORS) return launch<32>(x, y, rows, cols, stream);
  if (covered <= 64 * 4 * VECTORS) return launch<64>(x, y, rows, cols, stream);
  if (covered <= 128 * 4 * VECTORS) return launch<128>(x, y, rows, cols, stream);
  if (covered <= 256 * 4 * VECTORS) return launch<256>(x, y, rows, cols, stream);
  if (covered <= 512 * 4 * VECTORS) return launch<512>(x, y, rows, cols, stream);
  if (covered <= 1024 * 4 * VECTORS) return launch<1024>(x, y, rows, cols, stream);
  online_on(x, y, rows, cols, stream);
}

void row_on_chip(const float* x, float* y, int64_t rows, int64_t cols) {
  row_on_chip_on(x, y, rows, cols, nullptr);  // the default stream
}

}  // namespace tutorial::softmax
