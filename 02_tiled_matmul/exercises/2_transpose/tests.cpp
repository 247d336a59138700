#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

Expected transposed(const std::vector<float>& A, int64_t rows, int64_t cols) {
  Expected want;
  want.bound.assign(A.size(), 0);  // nothing is computed
  for (int64_t col = 0; col < cols; ++col)
    for (int64_t row = 0; row < rows; ++row)
      want.value.push_back(A[static_cast<size_t>(row * cols + col)]);
  return want;
}

}  // namespace

TEST_CASE("any matrix") {
  struct Shape {
    int64_t rows, cols;
  };
  const auto [rows, cols] = GENERATE(Shape{64, 64}, Shape{37, 70}, Shape{70, 37}, Shape{1, 100},
                                     Shape{100, 1}, Shape{31, 33}, Shape{0, 5}, Shape{5, 0});
  CAPTURE(rows, cols);
  const std::vector<float> A = make_values({rows, cols}, Init::normal, 1);
  const DeviceBuffer<float> a(A);
  check_launch([&](float* B) { transpose(a.data(), B, rows, cols); }, transposed(A, rows, cols),
               {.name = "B", .rows = cols, .cols = rows, .tile = {32, 32, 0, 0, true}});
}

TEST_CASE("the budget: whole sectors, no bank conflict") {
  const DeviceBuffer<float> a(make_values({96, 64}, Init::normal, 1));
  DeviceBuffer<float> b(96 * 64);
  const Counts counts = counts_for_budget([&] { transpose(a.data(), b.data(), 96, 64); });
  // 6 tiles of 32 warps; a warp's 128 bytes are 4 sectors.
  check_sectors("loaded", counts.loads, 6 * 32 * 4);
  check_sectors("stored", counts.stores, 6 * 32 * 4);
  check_budget("bank conflicts", counts.shared_loads.conflicts + counts.shared_stores.conflicts, 0);
  check_budget("barriers", counts.barriers, 6);
}

}  // namespace tutorial::exercise
