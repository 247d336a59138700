#include <limits>

#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr Tile TILE = {.rows = 16, .cols = 16};

/// Of C = A·Bᵀ, where B has the N·K elements that the other exercises take for a K×N matrix.
Expected reference(ProductShape shape, const std::vector<float>& A, const std::vector<float>& B) {
  return product_reference(
      shape, [&](int64_t i, int64_t k) { return A[static_cast<size_t>(i * shape.K + k)]; },
      [&](int64_t k, int64_t j) { return B[static_cast<size_t>(j * shape.K + k)]; });
}

}  // namespace

TEST_CASE("any size") {
  const ProductShape shape = GENERATE(from_range(product_shapes(16)));
  const auto [M, N, K] = shape;
  CAPTURE(M, N, K);
  const std::vector<float> A = make_values({M, K}, Init::normal, 1),
                           B = make_values({N, K}, Init::normal, 2);
  check_product(linear, shape, A, B, reference(shape, A, B), TILE);
}

// As in tile_loop: what multiplies the 0 beyond K must be finite.
TEST_CASE("an infinity counts once") {
  const ProductShape shape = {.M = 20, .N = 20, .K = 20};
  const auto [M, N, K] = shape;
  const int64_t k = GENERATE(5, 19);
  const bool in_A = GENERATE(true, false);
  CAPTURE(k, in_A);
  std::vector<float> A = make_values({M, K}, Init::normal, 1),
                     B = make_values({N, K}, Init::normal, 2);
  (in_A ? A : B)[static_cast<size_t>(3 * K + k)] = std::numeric_limits<float>::infinity();
  check_product(linear, shape, A, B, reference(shape, A, B), TILE);
}

TEST_CASE(
    "the budget: each element is loaded once a block, two barriers a tile, no conflict in a read") {
  const int64_t M = 32, N = 48, K = 64, blocks = 2 * 3;
  const Counts counts = counts_for_budget(linear, {M, N, K});
  check_budget("bytes loaded", counts.loads.bytes, 4 * K * (M * N / 16 + N * M / 16));
  check_sectors("loaded", counts.loads, 4 * K * (M * N / 16 + N * M / 16) / 32);
  check_budget("barriers", counts.barriers, blocks * (K / 16) * 2);
  check_budget("bank conflicts of reads", counts.shared_loads.conflicts, 0);
}

}  // namespace tutorial::exercise
