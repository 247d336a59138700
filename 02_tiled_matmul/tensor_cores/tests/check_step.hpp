// For the tests of this part and of part hopper: a step against the reference.
#pragma once

#include "common/measure/row_major_blas.hpp"
#include "common/testing/testing.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

struct Shape {
  int64_t M, N, K;
};

// How far A, B and C begin, in elements, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

inline std::vector<float> bf16_values(std::vector<int64_t> shape, uint64_t seed) {
  return rounded_to<bf16>(make_values(shape, Init::normal, seed));
}

/// Does the step need more shared memory than the device has?
inline bool is_too_large_here(const Step<Launcher>& step) {
  return is_device_too_small(step.name, [&] { step.launch(nullptr, nullptr, Output(), 0, 0, 0); });
}

/// Launches the step for both types of C and compares with the reference.
inline void check_step(const Step<Launcher>& step, Shape shape, const std::vector<float>& A,
                       const std::vector<float>& B, Offsets offsets = {}) {
  if (is_too_large_here(step)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const DeviceBuffer<bf16> a(narrowed<bf16>(A), offsets.a), b(narrowed<bf16>(B), offsets.b);
  const Expected want = reference(A, B, N, K, all_rows(M));
  const Layout layout = {.rows = M, .cols = N, .tile = step.tile};
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, N, K); }, want, layout,
               offsets.c);
  INFO("C in bf16");
  check_launch([&](bf16* C) { step.launch(a.data(), b.data(), C, M, N, K); }, in_bf16(want), layout,
               offsets.c);
}

inline void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {}) {
  check_step(step, shape, bf16_values({shape.M, shape.K}, 1), bf16_values({shape.K, shape.N}, 2),
             offsets);
}

/// The vendor's product, as a launcher.
inline void cublas(const bf16* A, const bf16* B, Output C, int64_t M, int64_t N, int64_t K) {
  static const CublasHandle handle;
  std::visit([&](auto* to) { row_major_gemm(handle, M, N, K, A, B, to); }, C);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
