// The CPU reference of step 12: part tensor_cores' sums, and what becomes of them, in double.
#include <cmath>

#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr double U = 0x1p-24;  // a rounding in float32

/// GELU by its tanh form.
double gelu(double x) {
  constexpr double SQRT_2_BY_PI = 0.79788456080286535588;
  return x / 2 * (1 + std::tanh(SQRT_2_BY_PI * (x + 0.044715 * x * x * x)));
}

// Let the kernel's x be x' with |x' - x| <= e. Its GELU differs from ours by what the function
// makes of that, at most 1.13·e, since its slope is nowhere steeper; and by its own arithmetic.
// That is x / (1 + t) with t = exp(-v), v = 2·√(2/π)·(x + 0.044715·x³). v has at most 6 roundings,
// two of constants, and terms of one sign: 6u of |v|. CUDA's __expf is within 2 + 1.173·|v| units
// in the last place, 2u each, so that t is off by at most (6|v| + 4 + 2.4·|v|)·u, and 1 + t by no
// more. The sum rounds once, and __fdividef is within 2 units: together (9 + 8.4·|v|)·u of the
// result. We allow (10 + 9·|v|)·u, and 2^-110 where a quotient is so small that it becomes 0.
void apply_gelu(double& value, double& bound) {
  const double most = std::abs(value) + bound;
  const double v = 1.6 * (most + 0.045 * most * most * most);
  const double result = gelu(value);
  bound *= 1.13;
  bound += (10 + 9 * v) * U * (std::abs(result) + bound) + 0x1p-110;
  value = result;
}

}  // namespace

Expected with_epilogue(Expected sums, const Bf16Product& product, std::span<const float> bias,
                       std::span<const float> before) {
  const double alpha = product.alpha, beta = product.beta;
  for (size_t i = 0; i < sums.value.size(); ++i) {
    double &value = sums.value[i], &bound = sums.bound[i];
    const double scaled = alpha * value;
    const double old = beta == 0 ? 0 : beta * before[i];
    const double of_column = bias.empty() ? 0 : bias[i % product.N];
    // alpha·sum, beta·C and their sum with the bias: at most three roundings each
    bound = std::abs(alpha) * bound;
    bound += gamma_bound(3) * (std::abs(scaled) + bound + std::abs(old) + std::abs(of_column));
    value = scaled + old + of_column;
    if (product.act == Activation::gelu) apply_gelu(value, bound);
  }
  return sums;
}

}  // namespace tutorial::tiled_matmul::hopper
