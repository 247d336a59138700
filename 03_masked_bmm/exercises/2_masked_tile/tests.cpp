#include <limits>

#include "common/testing/product.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

using Keep = bool(int64_t i, int64_t j);

bool all(int64_t, int64_t) {
  return true;
}
bool none(int64_t, int64_t) {
  return false;
}
bool causal(int64_t i, int64_t j) {
  return j <= i;
}
bool scattered(int64_t i, int64_t j) {
  return (i * 7 + j * 3) % 5 == 0;
}
bool one(int64_t i, int64_t j) {
  return i == 20 && j == 1;
}  // not in a block's first warp
bool some_columns(int64_t, int64_t j) {
  return j % 16 >= 8;
}

/// Kept elements have various bytes: any but 0 keeps.
std::vector<uint8_t> mask_of(Keep* keep, int64_t M, int64_t N) {
  constexpr uint8_t nonzero[] = {1, 2, 128, 255};
  std::vector<uint8_t> mask;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) mask.push_back(keep(i, j) ? nonzero[(i + j) % 4] : 0);
  return mask;
}

void check_masked(ProductShape shape, Keep* keep, float fill, const std::vector<float>& A,
                  const std::vector<float>& B) {
  const auto [M, N, K] = shape;
  Expected want = product_reference(shape, A, B);
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      if (keep(i, j)) continue;
      want.value[static_cast<size_t>(i * N + j)] = fill;
      want.bound[static_cast<size_t>(i * N + j)] = 0;
    }
  }
  const DeviceBuffer<float> a(A), b(B);
  const DeviceBuffer<uint8_t> mask(mask_of(keep, M, N));
  check_launch([&](float* C) { masked_product(a.data(), b.data(), mask.data(), fill, C, M, N, K); },
               want, {.rows = M, .cols = N, .tile = {16, 16}});
}

Counts counts_with(Keep* keep, ProductShape shape) {
  const auto [M, N, K] = shape;
  const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1)),
      b(make_values({K, N}, Init::normal, 2));
  const DeviceBuffer<uint8_t> mask(mask_of(keep, M, N));
  DeviceBuffer<float> c(M * N);
  return counts_for_budget(
      [&] { masked_product(a.data(), b.data(), mask.data(), -INF, c.data(), M, N, K); });
}

}  // namespace

TEST_CASE("any size, any mask, any fill value") {
  const auto [name, keep, fill] =
      GENERATE(table<std::string, Keep*, float>({{"all", all, -INF},
                                                 {"none", none, -INF},
                                                 {"causal", causal, 0.5f},
                                                 {"scattered", scattered, -INF},
                                                 {"one", one, 0.5f},
                                                 {"some columns", some_columns, -INF}}));
  const auto shape = GENERATE(from_range(product_shapes(16)));
  const auto [M, N, K] = shape;
  CAPTURE(name, M, N, K);
  check_masked(shape, keep, fill, make_values({M, K}, Init::normal, 1),
               make_values({K, N}, Init::normal, 2));
}

// Whoever adds the fill value to the sum, or multiplies by the mask, gives NaN here.
TEST_CASE("what is masked does not show") {
  const ProductShape shape = {.M = 40, .N = 40, .K = 5};
  const float hidden = GENERATE(INF, NOT_A_NUMBER);
  CAPTURE(hidden);
  const std::vector<float> A = make_values({40, 5}, Init::uniform, 1);
  std::vector<float> B = make_values({5, 40}, Init::normal, 2);
  B[39] = hidden;  // in the last column, of which `causal` keeps the last row only
  check_masked(shape, causal, -INF, A, B);
}

TEST_CASE("the budget: a tile without a kept element loads nothing but its mask") {
  const ProductShape shape = {.M = 64, .N = 64, .K = 32};
  check_budget("bytes loaded where nothing is kept", counts_with(none, shape).loads.bytes, 64 * 64);
  // 10 of the 4 × 4 tiles keep something. Each loads 2·16·32 floats.
  check_budget("bytes loaded under a causal mask", counts_with(causal, shape).loads.bytes,
               64 * 64 + 10 * 2 * 16 * 32 * 4);
}

}  // namespace tutorial::exercise
