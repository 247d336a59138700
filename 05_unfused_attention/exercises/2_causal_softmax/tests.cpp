#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

struct Shape {
  int64_t heads, Tq, Tk;

  int64_t seen(int64_t row) const { return std::max<int64_t>(row % Tq + Tk - Tq + 1, 0); }
};

/// Some rows lie far from 0. A score that is not seen is NaN.
std::vector<float> scores(const Shape& shape) {
  std::vector<float> S = make_values({shape.heads * shape.Tq, shape.Tk}, Init::normal, 1);
  for (int64_t row = 0; row < shape.heads * shape.Tq; ++row) {
    const auto in = S.begin() + row * shape.Tk;
    for (int64_t key = 0; key < shape.Tk; ++key)
      in[key] = key < shape.seen(row) ? in[key] + static_cast<float>(row % 3 - 1) * 200 : NAN;
  }
  return S;
}

Expected weights(const std::vector<float>& S, const Shape& shape) {
  Expected want{std::vector<double>(S.size()), std::vector<double>(S.size())};
  for (int64_t row = 0; row < shape.heads * shape.Tq; ++row) {
    const int64_t first = row * shape.Tk, seen = shape.seen(row);
    const auto in = S.begin() + first;
    const double max = seen == 0 ? 0 : *std::max_element(in, in + seen);
    double sum = 0;
    for (int64_t key = 0; key < seen; ++key) sum += std::exp(in[key] - max);
    for (int64_t key = 0; key < seen; ++key) {
      const double weight = std::exp(in[key] - max) / sum;
      want.value[first + key] = weight;
      want.bound[first + key] =
          weight * (exp_error(max - in[key]) + sum_error(seen)) + SUBNORMAL_ERROR;
    }
  }
  return want;
}

}  // namespace

TEST_CASE("as many keys as queries, more and fewer") {
  const auto shape = GENERATE(Shape{1, 64, 64}, Shape{2, 65, 65}, Shape{1, 1, 1}, Shape{2, 3, 131},
                              Shape{1, 1, 64}, Shape{2, 70, 37}, Shape{1, 37, 1}, Shape{3, 63, 64},
                              Shape{0, 5, 5}, Shape{1, 0, 5}, Shape{1, 5, 0});
  CAPTURE(shape.heads, shape.Tq, shape.Tk);
  const std::vector<float> S = scores(shape);
  const DeviceBuffer<float> on_device(S);
  check_launch(
      [&](float* P) { causal_softmax(on_device.data(), P, shape.heads, shape.Tq, shape.Tk); },
      weights(S, shape), {.name = "P", .batch = shape.heads, .rows = shape.Tq, .cols = shape.Tk});
}

TEST_CASE("the budget: masked scores are not read") {
  // 8 of 64 queries see a key, together 1 + 2 + … + 8, and read each score three times at most.
  const Shape shape{2, 64, 8};
  const DeviceBuffer<float> S(scores(shape));
  DeviceBuffer<float> P(S.size());
  const Counts counts = counts_for_budget(
      [&] { causal_softmax(S.data(), P.data(), shape.heads, shape.Tq, shape.Tk); });
  check_budget("bytes loaded", counts.loads.bytes, 2 * 36 * 3 * 4);
  check_budget("bytes stored", counts.stores.bytes, 2 * 64 * 8 * 4);
}

}  // namespace tutorial::exercise
