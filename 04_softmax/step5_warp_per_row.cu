// Step 5 = step 4 + a short row belongs to one warp, or to a part of a warp, so that shuffles alone
// join its threads: no shared memory and no barrier.
//
// FLOP            5 an element
// global memory   8 bytes an element, the least there is, 0.6 FLOP a byte
// asked for       loads 4·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   none; up to 32 floats of the row in the registers of each lane
// block           128 threads = 4 to 128 rows
// H200            0.126 ms for 524288 × 128, 99 % of a plain copy; step 4 has 24 %
// long diff       a row has lanes where it had threads, so indices, sums and launch change together
//
// A lane holds 4 floats of the row, or 8 where it must load them one by one: then half as many
// lanes share a row, and a warp's shuffles serve twice as many rows. Up to 128 columns the row
// takes as many lanes as it needs (a power of two: shuffles pair them), and one warp has 1 to 32
// rows in flight. From there on a lane holds up to 32 floats. A row of more than 1024 goes step 4's
// way.
#include <cmath>

#include "04_softmax.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::softmax {
namespace {

constexpr int THREADS = 128;

template <int LANES>
__device__ float max_of_lanes(float value) {
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

template <int LANES>
__device__ float sum_of_lanes(float value) {
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// LANES lanes share a row, and each holds FLOATS of it. WIDTH is 4 where every row of x and y
/// starts on a 16-byte boundary and ends on one, else 1.
template <int LANES, int FLOATS, int WIDTH>
__global__ void __launch_bounds__(THREADS)
    warp_per_row_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows,
                        int cols) {
  const int lane = static_cast<int>(threadIdx.x % LANES);
  const int64_t row = (int64_t{blockIdx.x} * THREADS + threadIdx.x) / LANES;
  // The lane's first float. The others lie at constant distances from it, which are part of the
  // instructions: no address is computed for each.
  const float* in = x + row * cols + lane * WIDTH;
  float* out = y + row * cols + lane * WIDTH;

  // Neighbouring lanes take neighbouring columns. A lane outside the matrix holds -infinity and
  // stays: a shuffle needs all 32.
  float held[FLOATS];
#pragma unroll
  for (int f = 0; f < FLOATS; f += WIDTH) {
    const int c = f * LANES + lane * WIDTH;
    const bool inside = row < rows && c < cols;
    if constexpr (WIDTH == 4) {
      float4 four = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      if (inside) four = load4(in + f * LANES);
      held[f] = four.x, held[f + 1] = four.y, held[f + 2] = four.z, held[f + 3] = four.w;
    } else {
      held[f] = inside ? in[f * LANES] : -INFINITY;
    }
  }

  float max = -INFINITY;
#pragma unroll
  for (int f = 0; f < FLOATS; ++f) max = fmaxf(max, held[f]);
  max = max_of_lanes<LANES>(max);

  float sum = 0;
#pragma unroll
  for (int f = 0; f < FLOATS; ++f) {
    held[f] = expf(held[f] - max);
    sum += held[f];
  }
  const float scale = 1 / sum_of_lanes<LANES>(sum);

#pragma unroll
  for (int f = 0; f < FLOATS; f += WIDTH) {
    const int c = f * LANES + lane * WIDTH;
    if (row >= rows || c >= cols) continue;
    if constexpr (WIDTH == 4)
      store4_whole(out + f * LANES, {held[f] * scale, held[f + 1] * scale, held[f + 2] * scale,
                                     held[f + 3] * scale});
    else
      out[f * LANES] = held[f] * scale;
  }
}

template <int LANES, int FLOATS, int WIDTH>
void launch_width(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  const int64_t blocks = ceil_div(rows, THREADS / LANES);
  warp_per_row_kernel<LANES, FLOATS, WIDTH>
      <<<blocks, THREADS, 0, stream>>>(x, y, rows, static_cast<int>(cols));
  CUDA_CHECK_LAUNCH();
}

template <int LANES, int FLOATS>
void launch(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  constexpr int FEWER = LANES > 1 && FLOATS == 4 ? 2 : 1;
  if (rows_are_aligned(x, cols) && rows_are_aligned(y, cols))
    launch_width<LANES, FLOATS, 4>(x, y, rows, cols, stream);
  else
    launch_width<LANES / FEWER, FLOATS * FEWER, 1>(x, y, rows, cols, stream);
}

}  // namespace

void warp_per_row_on(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  if (rows == 0 || cols == 0) return;
  if (cols <= 4) return launch<1, 4>(x, y, rows, cols, stream);
  if (cols <= 8) return launch<2, 4>(x, y, rows, cols, stream);
  if (cols <= 16) return launch<4, 4>(x, y, rows, cols, stream);
  if (cols <= 32) return launch<8, 4>(x, y, rows, cols, stream);
  if (cols <= 64) return launch<16, 4>(x, y, rows, cols, stream);
  if (cols <= 128) return launch<32, 4>(x, y, rows, cols, stream);
  if (cols <= 256) return launch<32, 8>(x, y, rows, cols, stream);
  if (cols <= 512) return launch<32, 16>(x, y, rows, cols, stream);
  if (cols <= 1024) return launch<32, 32>(x, y, rows, cols, stream);
  row_on_chip_on(x, y, rows, cols, stream);
}

void warp_per_row(const float* x, float* y, int64_t rows, int64_t cols) {
  warp_per_row_on(x, y, rows, cols, nullptr);  // the default stream
}

}  // namespace tutorial::softmax
