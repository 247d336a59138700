// A step against the reference.
#pragma once

#include "common/measure/row_major_blas.hpp"
#include "common/testing/testing.hpp"
#include "fp16/fp16.hpp"
#include "tensor_cores/tests/check_step.hpp"

namespace tutorial::tiled_matmul::fp16 {

using tensor_cores::check_addresses, tensor_cores::check_zero_times_infinity;
using tensor_cores::reference, tensor_cores::Shape, tensor_cores::Offsets;
using tensor_cores::shapes_at_edges;

inline std::vector<float> half_values(std::vector<int64_t> shape, uint64_t seed) {
  return rounded_to<__half>(make_values(shape, Init::normal, seed));
}

/// Launches the step for both types of C and compares with the reference.
inline void check_step(const Step<Launcher>& step, Shape shape, const std::vector<float>& A,
                       const std::vector<float>& B, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const DeviceBuffer<__half> a(narrowed<__half>(A), offsets.a), b(narrowed<__half>(B), offsets.b);
  const auto launch = [&](HalfOutput C) {
    step.launch({M, N, K}, a.data(), b.data(), C, {}, nullptr);
  };
  const Expected want = reference(A, B, N, K, all_rows(M));
  const Layout layout = {.rows = M, .cols = N, .tile = step.tile};
  check_launch([&](float* C) { launch(C); }, want, layout, offsets.c);
  INFO("C in fp16");
  check_launch([&](__half* C) { launch(C); }, in_fp16(want), layout, offsets.c);
}

inline void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {}) {
  check_step(step, shape, half_values({shape.M, shape.K}, 1), half_values({shape.K, shape.N}, 2),
             offsets);
}

/// The vendor's product, as a launcher, in the default stream.
inline void cublas(const HalfProduct& x, const __half* A, const __half* B, HalfOutput C, Workspace,
                   cudaStream_t) {
  static const CublasHandle handle;
  std::visit([&](auto* to) { row_major_gemm(handle, x.M, x.N, x.K, A, B, to); }, C);
}

}  // namespace tutorial::tiled_matmul::fp16
