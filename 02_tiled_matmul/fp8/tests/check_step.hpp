// For the tests of this part: a step against the reference.
#pragma once

#include "common/data/narrow.hpp"
#include "common/testing/testing.hpp"
#include "common/testing/two_streams.hpp"
#include "fp8/operands.hpp"

namespace tutorial::tiled_matmul::fp8 {

struct Shape {
  int64_t M, N, K;
};

// How far A, B and C begin, in elements, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

/// Launches the step on A (M, K) and B (N, K), rounded as it wants them, and compares with the
/// reference.
inline void check_step(const Step<Launcher>& step, Shape shape, const std::vector<float>& A,
                       const std::vector<float>& B, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const Fp8Product product = {M, N, K};
  const DeviceBuffer<float> a(A), b(B);
  const Operands of(a.data(), b.data(), product, scaling_of(step), offsets.a, offsets.b);
  const e4m3 *narrow_a = of.A.values.data(), *narrow_b = of.B.values.data();
  DeviceBuffer<std::byte> memory(workspace_bytes(product, narrow_a, narrow_b));
  const Expected want =
      reference(of.A.to_host(), of.B.to_host(), product, all_rows(M), step.features);
  check_launch(
      [&](bf16* C) {
        memory.poison();
        step.launch(product, narrow_a, narrow_b, of.scales(), C, workspace_in(memory), nullptr);
      },
      want, {.rows = M, .cols = N, .tile = step.tile}, offsets.c);
}

inline void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {}) {
  check_step(step, shape, make_values({shape.M, shape.K}, Init::normal, 1),
             make_values({shape.N, shape.K}, Init::normal, 2), offsets);
}

/// What the step gives.
inline std::vector<float> launched(const Step<Launcher>& step, Shape shape,
                                   const std::vector<float>& A, const std::vector<float>& B) {
  const auto [M, N, K] = shape;
  const Fp8Product product = {M, N, K};
  const DeviceBuffer<float> a(A), b(B);
  const Operands of(a.data(), b.data(), product, scaling_of(step));
  DeviceBuffer<bf16> c(M * N);
  step.launch(product, of.A.values.data(), of.B.values.data(), of.scales(), c.data(), {}, nullptr);
  return widened<bf16>(c.to_host());
}

}  // namespace tutorial::tiled_matmul::fp8
