#include <limits>

#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// `batch` matrices of `size` values, `stride` floats apart; what lies between them is NaN.
std::vector<float> matrices(int64_t batch, int64_t size, int64_t stride, uint64_t seed) {
  const int64_t last = (batch - 1) * stride;
  std::vector<float> all(static_cast<size_t>(last + size), std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> values = make_values({last + size}, Init::normal, seed);
  for (int64_t b = 0; b < batch; ++b) {
    const auto begin = static_cast<std::ptrdiff_t>(b * stride);
    std::copy_n(values.begin() + begin, size, all.begin() + begin);
  }
  return all;
}

void check_batch(int64_t batch, ProductShape shape, int64_t stride_a, int64_t stride_b) {
  const auto [M, N, K] = shape;
  CAPTURE(batch, M, N, K, stride_a, stride_b);
  const std::vector<float> A = matrices(batch, M * K, stride_a, 1),
                           B = matrices(batch, K * N, stride_b, 2);
  Expected want;
  for (int64_t b = 0; b < batch; ++b) {
    const Expected one = product_reference(
        shape,
        [&](int64_t i, int64_t k) { return A[static_cast<size_t>(b * stride_a + i * K + k)]; },
        [&](int64_t k, int64_t j) { return B[static_cast<size_t>(b * stride_b + k * N + j)]; });
    want.value.insert(want.value.end(), one.value.begin(), one.value.end());
    want.bound.insert(want.bound.end(), one.bound.begin(), one.bound.end());
  }
  const DeviceBuffer<float> a(A), b(B);
  check_launch(
      [&](float* C) { batched_product(batch, M, N, K, a.data(), stride_a, b.data(), stride_b, C); },
      want, {.batch = batch, .rows = M, .cols = N, .tile = {8, 32}});
}

}  // namespace

TEST_CASE("matrices without gaps, of any size") {
  const auto shape = GENERATE(from_range(product_shapes(8)));
  const int64_t batch = GENERATE(1, 3);
  check_batch(batch, shape, shape.M * shape.K, shape.K * shape.N);
}

TEST_CASE("no matrix") {
  check_launch([](float* C) { batched_product(0, 5, 4, 3, nullptr, 15, nullptr, 12, C); }, {},
               {.batch = 0, .rows = 5, .cols = 4});
}

TEST_CASE("one matrix for all of the batch, gaps, and matrices that overlap") {
  const ProductShape shape = {.M = 10, .N = 35, .K = 6};
  const int64_t dense_a = 10 * 6, dense_b = 6 * 35;
  const auto [stride_a, stride_b] =
      GENERATE_COPY(table<int64_t, int64_t>({{0, dense_b},
                                             {dense_a, 0},
                                             {0, 0},
                                             {dense_a + 5, dense_b + 64},
                                             {6, dense_b},
                                             {dense_a, 35}}));  // each begins a row later
  check_batch(4, shape, stride_a, stride_b);
}

TEST_CASE("more matrices than a grid has blocks in z") {
  const SmallGrid two(1000, 2);
  check_batch(5, {.M = 9, .N = 33, .K = 4}, 9 * 4 + 3, 4 * 33);
}

TEST_CASE("the budget: each element of C is computed once") {
  const SmallGrid two(1000, 2);
  const int64_t batch = 5, M = 16, N = 64, K = 4;
  const DeviceBuffer<float> a(make_values({batch, M, K}, Init::normal, 1)),
      b(make_values({batch, K, N}, Init::normal, 2));
  DeviceBuffer<float> c(batch * M * N);
  const Counts counts = counts_for_budget(
      [&] { batched_product(batch, M, N, K, a.data(), M * K, b.data(), K * N, c.data()); });
  check_budget("bytes loaded", counts.loads.bytes, batch * M * N * K * 2 * 4);
  check_budget("bytes stored", counts.stores.bytes, batch * M * N * 4);
}

}  // namespace tutorial::exercise
