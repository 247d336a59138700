#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {

TEST_CASE("any size") {
  const auto shape = GENERATE(from_range(product_shapes(32)));
  const auto [M, N, K] = shape;
  CAPTURE(M, N, K);
  const std::vector<float> A = make_values({K, M}, Init::normal, 1),
                           B = make_values({K, N}, Init::normal, 2);
  const auto at = [](int64_t row, int64_t width, int64_t col) {
    return static_cast<size_t>(row * width + col);
  };
  const Expected want = product_reference(
      shape, [&](int64_t i, int64_t k) { return A[at(k, M, i)]; },
      [&](int64_t k, int64_t j) { return B[at(k, N, j)]; });
  check_product(transposed_product, shape, A, B, want, {32, 32});
}

TEST_CASE("the budget: whole sectors") {
  const Counts counts = counts_for_budget(transposed_product, {.M = 64, .N = 96, .K = 16});
  // 6 tiles of 32 warps. In each turn of the loop over k a warp's loads touch 5 sectors together.
  check_sectors("loaded", counts.loads, 6 * 32 * 16 * 5);
  check_sectors("stored", counts.stores, 6 * 32 * 4);
}

}  // namespace tutorial::exercise
