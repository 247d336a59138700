// What the tests of exercises about a matrix product share: a reference in double for any layout, a
// launch that is compared, and one that is counted.
#pragma once

#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"

namespace tutorial {

/// C is M×N, and each of its elements is a sum of K products.
struct ProductShape {
  int64_t M, N, K;
};

/// Sizes to try where a block has a tile of `tile` × `tile` elements of C: whole tiles, one more,
/// one less, prime numbers, single rows and columns, nothing, no product.
inline std::vector<ProductShape> product_shapes(int64_t tile) {
  return {{2 * tile, 3 * tile, 32},
          {tile, tile, 17},
          {tile + 1, tile - 1, 15},
          {tile - 1, tile + 1, 1},
          {37, 29, 43},
          {1, 40, 7},
          {40, 1, 33},
          {1, 1, 1},
          {0, 5, 3},
          {5, 0, 3},
          {tile + 3, 5, 0}};
}

/// Element (i, j) is the sum of a(i, k)·b(k, j) over k; the bound is that of a float32 sum.
template <class LeftElement, class RightElement>
Expected product_reference(ProductShape shape, LeftElement a, RightElement b) {
  Expected want;
  for (int64_t i = 0; i < shape.M; ++i) {
    for (int64_t j = 0; j < shape.N; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < shape.K; ++k) {
        const double term = double{a(i, k)} * b(k, j);
        sum += term;
        magnitude += std::abs(term);
      }
      want.value.push_back(sum);
      want.bound.push_back(gamma_bound(shape.K) * magnitude);
    }
  }
  return want;
}

/// The same for A and B that lie row-major and without gaps.
inline Expected product_reference(ProductShape shape, const std::vector<float>& A,
                                  const std::vector<float>& B) {
  return product_reference(
      shape, [&](int64_t i, int64_t k) { return A[static_cast<size_t>(i * shape.K + k)]; },
      [&](int64_t k, int64_t j) { return B[static_cast<size_t>(k * shape.N + j)]; });
}

/// What computes C from A and B, which have M·K and K·N elements in global memory.
using Product = void(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K);

/// Launches it on these inputs, and compares.
inline void check_product(Product* product, ProductShape shape, const std::vector<float>& A,
                          const std::vector<float>& B, const Expected& want, Tile tile) {
  const auto [M, N, K] = shape;
  const DeviceBuffer<float> a(A), b(B);
  check_launch([&](float* C) { product(a.data(), b.data(), C, M, N, K); }, want,
               {.rows = M, .cols = N, .tile = tile});
}

/// The same with random values, row-major and without gaps.
inline void check_product(Product* product, ProductShape shape, Tile tile) {
  const auto [M, N, K] = shape;
  CAPTURE(M, N, K);
  const std::vector<float> A = make_values({M, K}, Init::normal, 1),
                           B = make_values({K, N}, Init::normal, 2);
  check_product(product, shape, A, B, product_reference(shape, A, B), tile);
}

/// What it does at this size, for check_budget().
inline Counts counts_for_budget(Product* product, ProductShape shape) {
  const auto [M, N, K] = shape;
  const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1)),
      b(make_values({K, N}, Init::normal, 2));
  DeviceBuffer<float> c(M * N);
  return counts_for_budget([&] { product(a.data(), b.data(), c.data(), M, N, K); });
}

}  // namespace tutorial
