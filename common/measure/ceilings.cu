// The ceilings, measured: arithmetic and a copy.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/backend/backend.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/data/random.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/measure/roofline.hpp"
#include "common/measure/row_major_blas.hpp"
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
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, multiply_add, kThreads, 0));
  // One full wave: no multiprocessor is idle at the end.
  blocks *= device_attribute(cudaDevAttrMultiProcessorCount);

  DeviceBuffer<float> sink(1);
  const Timing timing = time_launch(
      [&] {
        multiply_add<<<blocks, kThreads>>>(sink.data(), 0.75f, 0.5f);
        CUDA_CHECK_LAUNCH();
      },
      kRepeats);
  return per_second(2.0 * blocks * kThreads * kChains * kRounds, timing);
}

/// cuBLAS's rate for products of T, which `precision` says how to take.
template <class T>
double measure_products_per_s(Precision precision) {
  constexpr int64_t N = 8192, ROWS = 256;  // the matrix repeats its first rows
  const std::vector<float> some = make_values({ROWS, N}, Init::normal, 1);
  const std::vector<T> rows(some.begin(), some.end());
  DeviceBuffer<T> A(N * N), B(N * N);
  DeviceBuffer<float> C(N * N);
  for (DeviceBuffer<T>* X : {&A, &B})
    for (int64_t row = 0; row < N; row += ROWS)
      CUDA_CHECK(cudaMemcpy(X->data() + row * N, rows.data(), rows.size() * sizeof(T),
                            cudaMemcpyHostToDevice));
  const CublasHandle handle(precision);
  const Timing timing = time_launch(
      [&] {
        if constexpr (sizeof(T) == sizeof(float))
          row_major_gemm(handle, N, N, N, 1, A.data(), B.data(), 0, C.data());
        else
          row_major_gemm(handle, N, N, N, A.data(), B.data(), C.data());
      },
      kRepeats);
  return per_second(2.0 * N * N * N, timing);
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
  return per_second(2.0 * static_cast<double>(bytes), timing);
}

}  // namespace

const Ceiling& measured_ceiling(Arithmetic arithmetic) {
  if (!device_has_clock()) throw std::logic_error("measured_ceiling: this backend has no clock");
  static const double copy = measure_bytes_per_s();
  if (arithmetic == Arithmetic::fp32) {
    static const Ceiling ceiling = {.flop_per_s = measure_flop_per_s(), .bytes_per_s = copy};
    return ceiling;
  }
  if (arithmetic == Arithmetic::tf32) {
    static const Ceiling ceiling = {.flop_per_s = measure_products_per_s<float>(Precision::tf32),
                                    .bytes_per_s = copy};
    return ceiling;
  }
  if (arithmetic == Arithmetic::fp16) {
    static const Ceiling ceiling = {.flop_per_s = measure_products_per_s<__half>(Precision::fp32),
                                    .bytes_per_s = copy};
    return ceiling;
  }
  static const Ceiling ceiling = {
      .flop_per_s = measure_products_per_s<__nv_bfloat16>(Precision::fp32), .bytes_per_s = copy};
  static const Ceiling of_fp8 = {.flop_per_s = 2 * ceiling.flop_per_s, .bytes_per_s = copy};
  return arithmetic == Arithmetic::fp8 ? of_fp8 : ceiling;
}

}  // namespace tutorial
