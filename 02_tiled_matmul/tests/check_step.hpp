// For the tests of this chapter: one step on one shape.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "02_tiled_matmul.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul {

struct Shape {
  int64_t M, N, K;
};

// How far A, B and C begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

inline void check_product(const std::string& name, const std::function<Launcher>& launch,
                          const Tile& tile, Shape shape, Offsets offsets = {}, float alpha = 1,
                          float beta = 0) {
  const auto [M, N, K] = shape;
  INFO(name << " M=" << M << " N=" << N << " K=" << K << " alpha=" << alpha << " beta=" << beta
            << " offsets " << offsets.a << ", " << offsets.b << ", " << offsets.c);
  const std::vector<float> A = make_values({M, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);
  std::vector<float> before;  // with beta = 0 C holds NaN, which must not show
  if (beta != 0) before = make_values({M, N}, Init::normal, 3);
  const DeviceBuffer<float> a(A, offsets.a), b(B, offsets.b);
  check_launch([&](float* C) { launch(a.data(), b.data(), C, M, N, K, alpha, beta); },
               reference(A, B, N, K, all_rows(M), alpha, beta, before),
               {.rows = M, .cols = N, .tile = tile}, offsets.c, before);
}

inline void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {},
                       float alpha = 1, float beta = 0) {
  check_product(step.name, step.launch, step.tile, shape, offsets, alpha, beta);
}

inline Step<Launcher> step_of(Launcher* launch) {
  return runnable(*std::find_if(steps.begin(), steps.end(),
                                [&](const auto& step) { return step.launch == launch; }));
}

}  // namespace tutorial::tiled_matmul
