#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// 2^-24 each for the product and the sum.
Expected want(float a, const std::vector<float>& x, const std::vector<float>& y) {
  Expected result;
  for (size_t i = 0; i < x.size(); ++i) {
    const double product = double{a} * x[i];
    result.value.push_back(product + y[i]);
    result.bound.push_back(gamma_bound(2) * (std::abs(product) + std::abs(y[i])));
  }
  return result;
}

}  // namespace

TEST_CASE("any number of elements") {
  const int64_t n = GENERATE(1024, 300, 257, 255, 1, 0, 100'003);
  CAPTURE(n);
  const float a = 1.5f;
  const std::vector<float> x = make_values({n}, Init::normal, 1),
                           y = make_values({n}, Init::normal, 2);
  const DeviceBuffer<float> x_on_device(x);
  check_launch([&](float* out) { axpy(n, a, x_on_device.data(), out); }, want(a, x, y),
               {.name = "y", .rows = 1, .cols = n}, 0, y);
}

}  // namespace tutorial::exercise
