// The two ceilings, measured: arithmetic and a copy.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/backend/backend.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/measure/roofline.hpp"
#include "common/measure/timing.hpp"

namespace tutorial {
namespace {

constexpr int kRepeats = 10;
constexpr int kThreads = 256;
constexpr int kChains = 16;  // independent sums in a thread: the next does not wait for the last
constexpr int kRounds = 1 << 15;  // about 4 ms on a large GPU

/// Nothing but fused multiply-adds on registers. The store does not happen; it keeps the compiler
/// from leaving out the arithmetic.
__global__ void multiply_add(float* sink, float a, float b) {
  float x[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) x[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 16
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int i = 0; i < kChains; ++i) x[i] = fmaf(x[i], a, b);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += x[i];
  if (sum == -1.0f) *sink = sum;  // each x tends to b / (1 - a) > 0
}

double measure_flop_per_s() {
  int device = 0, multiprocessors = 0, blocks = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, multiply_add, kThreads, 0));
  blocks *= multiprocessors;  // one full wave: no multiprocessor is idle at the end

  DeviceBuffer<float> sink(1);
  const Timing timing = time_launch(
      [&] {
        multiply_add<<<blocks, kThreads>>>(sink.data(), 0.75f, 0.5f);
        CUDA_CHECK_LAUNCH();
      },
      kRepeats);
  const double flop = 2.0 * blocks * kThreads * kChains * kRounds;
  return flop / (timing.median_ms * 1e-3);
}

double measure_bytes_per_s() {
  size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  // Large, so that the part of the copy that is still in the L2 at the end counts little.
  const size_t bytes = std::min(size_t{1} << 30, free_bytes / 4);
  DeviceBuffer<char> from(static_cast<int64_t>(bytes)), to(static_cast<int64_t>(bytes));
  const Timing timing = time_launch(
      [&] { CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice)); },
      kRepeats);
  return 2.0 * static_cast<double>(bytes) / (timing.median_ms * 1e-3);
}

}  // namespace

const Ceiling& measured_ceiling() {
  if (!device_has_clock()) throw std::logic_error("measured_ceiling: this backend has no clock");
  static const Ceiling ceiling = {.flop_per_s = measure_flop_per_s(),
                                  .bytes_per_s = measure_bytes_per_s()};
  return ceiling;
}

}  // namespace tutorial
