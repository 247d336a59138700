// For the tests of the road and of parts faster and any_shape: what each of their steps has to do
// alike, C = A·B.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

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

/// A step of any of the three, for a plain product.
struct PlainStep {
  std::string name;
  Tile tile;
  std::function<Launcher> launch;
};

inline const std::vector<Shape> shapes = {
    {128, 128, 32},                 // square, whole tiles
    {256, 128, 8},                  // several whole tiles
    {37, 45, 29},                   // all different, no whole tile
    {130, 70, 45},                  // more than one tile of 128 rows
    {257, 129, 33},                 // more than one in both directions
    {132, 68, 20},                  // no whole tile, but rows that allow 16-byte accesses
    {129, 261, 9},                  // more than one tile of 128 × 256, in both directions
    {130, 260, 12},                 // … and 16-byte accesses
    {1, 130, 7},    {130, 1, 7},    // one row, one column
    {33, 40, 3},    {20, 24, 1},    // K shorter than a tile
    {30, 41, 101},  {18, 44, 100},  // K of many tiles and a tail
    {28, 41, 100},                  // rows of A allow 16-byte accesses, rows of B and C do not
    {1, 1, 1},      {0, 5, 3},     {5, 0, 3}, {0, 0, 0}, {5, 35, 0},
};

inline void check_step(const PlainStep& step, const std::vector<float>& A,
                       const std::vector<float>& B, Shape shape, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const DeviceBuffer<float> a(A, offsets.a), b(B, offsets.b);
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, N, K); },
               reference(A, B, N, K, all_rows(M)), {.rows = M, .cols = N, .tile = step.tile},
               offsets.c);
}

inline void check_step(const PlainStep& step, Shape shape, Offsets offsets = {}) {
  const auto [M, N, K] = shape;
  check_step(step, make_values({M, K}, Init::normal, 1), make_values({K, N}, Init::normal, 2),
             shape, offsets);
}

inline void check_every_shape(const PlainStep& step) {
  for (const Shape& shape : shapes) check_step(step, shape);
}

inline void check_every_address(const PlainStep& step) {
  for (int64_t offset : {1, 2, 3}) {
    const Shape shape = {12, 20, 8};  // rows that would allow 16-byte accesses
    check_step(step, shape, {.a = offset});
    check_step(step, shape, {.b = offset});
    check_step(step, shape, {.c = offset});
    check_step(step, {13, 19, 11}, {offset, offset, offset});
  }
}

/// The products are those of A and B alone: not of what fills up a tile, nor are any left out.
inline void check_infinities(const PlainStep& step) {
  const auto [M, N, K] = Shape{5, 6, 11};
  std::vector<float> A = make_values({M, K}, Init::normal, 1);
  std::vector<float> B = make_values({K, N}, Init::normal, 2);
  A[1 * K + 2] = 0, B[2 * N + 3] = INFINITY;     // C[1][3]; else infinite in column 3
  A[4 * K + 10] = -INFINITY, B[10 * N + 5] = 0;  // C[4][5]; else infinite in row 4
  const Expected want = reference(A, B, N, K, all_rows(M));
  for (int64_t i = 0; i < M * N; ++i)
    CHECK(std::isfinite(want.value[i]) == (i / N != 4 && i % N != 3));
  check_step(step, A, B, {M, N, K});
}

/// Smaller than a GPU's, so that it does not take a large problem.
inline void check_small_grid(const PlainStep& step) {
  const SmallGrid grid(1000, 2);
  const int64_t rows = std::max(step.tile.rows, 16);  // of a tile; 0 where the step has several
  check_step(step, {4 * rows + 3, 20, 9});            // the third grid has what is left
  check_step(step, {4 * rows, 20, 9});
}

inline void check_more_rows_than_a_grid_has(const PlainStep& step) {
  if (!device_has_clock()) SKIP("65536 blocks would take the simulator too long");
  const int64_t rows = std::max(step.tile.rows, 128);  // of a tile; 0 where the step has several
  check_step(step, {65535 * rows + 3, 1, 1});
}

/// An A with more than 2^31 elements, 9 GB.
inline void check_large_a(const PlainStep& step) {
  const int64_t M = 65537, K = 32769;  // A is zero but for its last row
  const std::vector<float> row = make_values({1, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, 1}, Init::normal, 2);
  DeviceBuffer<float> a(M * K);
  CUDA_CHECK(cudaMemset(a.data(), 0, M * K * sizeof(float)));
  CUDA_CHECK(
      cudaMemcpy(a.data() + (M - 1) * K, row.data(), K * sizeof(float), cudaMemcpyHostToDevice));
  const DeviceBuffer<float> b(B);
  const Expected last = reference(row, B, 1, K, all_rows(1));
  Expected want{std::vector<double>(M), std::vector<double>(M)};
  want.value.back() = last.value[0];
  want.bound.back() = last.bound[0];
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, 1, K); }, want,
               {.rows = M, .cols = 1, .tile = step.tile});
}

}  // namespace tutorial::tiled_matmul
