#include <limits>

#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr Tile TILE = {.rows = 16, .cols = 16};

}  // namespace

TEST_CASE("any size") {
  check_product(tiled_product, GENERATE(from_range(product_shapes(16))), TILE);
}

// The second tiles have rows and columns beyond K. What multiplies 0 there must be finite: 0 times
// an infinity that is left over from the first tiles, or was loaded again, is NaN.
TEST_CASE("an infinity counts once") {
  const ProductShape shape = {.M = 20, .N = 20, .K = 20};
  const auto [M, N, K] = shape;
  const int64_t k = GENERATE(5, 19);  // in the first tiles, where the second ones reach over the
                                      // edge; the last one
  const bool in_A = GENERATE(true, false);
  CAPTURE(k, in_A);
  std::vector<float> A = make_values({M, K}, Init::normal, 1),
                     B = make_values({K, N}, Init::normal, 2);
  (in_A ? A[static_cast<size_t>(3 * K + k)] : B[static_cast<size_t>(k * N + 3)]) =
      std::numeric_limits<float>::infinity();
  check_product(tiled_product, shape, A, B, product_reference(shape, A, B), TILE);
}

TEST_CASE("the budget: each element is loaded once a block, two barriers a tile") {
  const int64_t M = 32, N = 48, K = 64, blocks = 2 * 3;
  const Counts counts = counts_for_budget(tiled_product, {M, N, K});
  check_budget("bytes loaded", counts.loads.bytes, 4 * K * (M * N / 16 + N * M / 16));
  check_sectors("loaded", counts.loads, 4 * K * (M * N / 16 + N * M / 16) / 32);
  check_budget("barriers", counts.barriers, blocks * (K / 16) * 2);
}

}  // namespace tutorial::exercise
