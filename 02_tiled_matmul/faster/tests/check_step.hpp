// For the tests of this part and of part any_shape: one step on one shape, with alpha and beta.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "faster/faster.hpp"
#include "tests/products.hpp"

namespace tutorial::tiled_matmul::faster {

/// A step of either part.
struct ScaledStep {
  ScaledStep(const std::string& name, const std::function<Launcher>& launch, const Tile& tile = {})
      : name(name), launch(launch), tile(tile) {}
  ScaledStep(const Step<Launcher>& step) : ScaledStep(step.name, step.launch, step.tile) {}

  std::string name;
  std::function<Launcher> launch;
  Tile tile;
};

inline void check_step(const ScaledStep& step, Shape shape, Offsets offsets = {}, float alpha = 1,
                       float beta = 0) {
  if (!is_in_sample(step.name)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " alpha=" << alpha << " beta=" << beta
                 << " offsets " << offsets.a << ", " << offsets.b << ", " << offsets.c);
  const std::vector<float> A = make_values({M, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);
  std::vector<float> before;  // with beta = 0 C holds NaN, which must not show
  if (beta != 0) before = make_values({M, N}, Init::normal, 3);
  const DeviceBuffer<float> a(A, offsets.a), b(B, offsets.b);
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, N, K, alpha, beta); },
               reference(A, B, N, K, all_rows(M), alpha, beta, before),
               {.rows = M, .cols = N, .tile = step.tile}, offsets.c, before);
}

inline PlainStep plain(const ScaledStep& step) {
  const auto launch = [=](const float* A, const float* B, float* C, int64_t M, int64_t N,
                          int64_t K) { step.launch(A, B, C, M, N, K, 1, 0); };
  return {step.name, step.tile, launch};
}

inline void check_alpha_and_beta(const ScaledStep& step) {
  const std::vector<std::pair<float, float>> factors = {
      {2.5f, 0}, {1, 1}, {-0.5f, -3}, {0, 2}, {0, 0.0f}};
  for (const auto& [alpha, beta] : factors) {
    check_step(step, {130, 140, 12}, {}, alpha, beta);
    check_step(step, {37, 45, 29}, {1, 2, 3}, alpha, beta);
    check_step(step, {9, 11, 0}, {}, alpha, beta);
  }
}

inline void check_alpha_0(const ScaledStep& step) {
  const DeviceBuffer<float> nan(64);  // as it is allocated
  const std::vector<float> before = make_values({8, 8}, Init::normal, 3);
  check_launch([&](float* C) { step.launch(nan.data(), nan.data(), C, 8, 8, 8, 0, 3); },
               reference({}, {}, 8, 0, all_rows(8), 0, 3, before),
               {.rows = 8, .cols = 8, .tile = step.tile}, 0, before);
}

}  // namespace tutorial::tiled_matmul::faster
