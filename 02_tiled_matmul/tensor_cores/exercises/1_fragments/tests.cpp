#include "common/data/narrow.hpp"
#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

using bf16 = __nv_bfloat16;

std::vector<float> values(int64_t rows, int64_t cols, uint64_t seed) {
  return rounded_to<bf16>(make_values({rows, cols}, Init::normal, seed));
}

}  // namespace

TEST_CASE("any size") {
  const ProductShape shape = GENERATE(from_range(product_shapes(64)));
  const auto [M, N, K] = shape;
  CAPTURE(M, N, K);
  const std::vector<float> A = values(M, K, 1), B = values(K, N, 2);
  const DeviceBuffer<bf16> a(narrowed<bf16>(A)), b(narrowed<bf16>(B));
  Expected want = product_reference(shape, A, B);
  // Tensor cores cut off where fp32 arithmetic rounds: docs/02_tensor_cores.md has the bound.
  for (double& bound : want.bound) bound *= gamma_bound(3 * K + 4) / gamma_bound(K + 1);
  check_launch([&](float* C) { fragment_product(a.data(), b.data(), C, M, N, K); }, want,
               {.rows = M, .cols = N, .tile = tile_of_a_block(64, 64)});
}

TEST_CASE("the budget: no bank conflicts") {
  const int64_t M = 128, N = 64, K = 128;
  const DeviceBuffer<bf16> a(narrowed<bf16>(values(M, K, 1))), b(narrowed<bf16>(values(K, N, 2)));
  DeviceBuffer<float> c(M * N);
  const Counts counts =
      counts_for_budget([&] { fragment_product(a.data(), b.data(), c.data(), M, N, K); });
  check_budget("bank conflicts", counts.shared_loads.conflicts + counts.shared_stores.conflicts, 0);
}

}  // namespace tutorial::exercise
