// The CPU reference: C in double, and how far the tensor cores' sums may be from it.
#include <algorithm>
#include <cmath>

#include "common/kernel/grid.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::tiled_matmul::fp8 {
namespace {

float scale_of(const Operand& X, int64_t R, int64_t row, int64_t k) {
  return X.scales[k / X.groups.cols * ceil_div(R, X.groups.rows) + row / X.groups.rows];
}

struct Sum {
  double value = 0, bound = 0;
};

// A product of two numbers of e4m3 has 8 bits and is exact. One wgmma adds 32 of them to a sum.
// What it does inside is not specified. Measured (hopper_fp8_test.cu): all 33 are shifted to the
// exponent of the largest one, and what is then below 13 bits behind its leading one is cut. So
// each is off by less than 2^-13 of the largest, which may be the sum so far; and so is the result.
// The error so far may make the sum that much larger.
void add_32(Sum& sum, const float* a, const float* b, int64_t count) {
  double products = 0, largest = std::abs(sum.value);
  for (int64_t k = 0; k < count; ++k) {
    const double product = double{a[k]} * b[k];
    products += product;
    largest = std::max(largest, std::abs(product));
  }
  sum.value += products;
  const double cut = 33 * (largest + sum.bound) + std::abs(sum.value) + sum.bound;
  sum.bound += 0x1p-13 * cut;
}

}  // namespace

// Behind that, for SHORT_SUMS: the sums of 128 elements, times their scales, are added up in fp32,
// and each scale is a product of two. All steps: the sum times two scales.
Expected reference(const Operand& A, const Operand& B, const Fp8Product& product,
                   std::span<const int64_t> rows, unsigned features) {
  const auto [M, N, K] = product;
  const bool is_short = features & SHORT_SUMS;
  const int64_t chunk = is_short ? SCALED : std::max<int64_t>(1, K);
  const double relative = gamma_bound((is_short ? ceil_div(K, SCALED) : 0) + 4);
  Expected want{std::vector<double>(rows.size() * N), std::vector<double>(rows.size() * N)};
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t j = 0; j < N; ++j) {
      const float *a = A.values.data() + rows[i] * K, *b = B.values.data() + j * K;
      double &value = want.value[i * N + j], &bound = want.bound[i * N + j], magnitude = 0;
      for (int64_t k0 = 0; k0 < K; k0 += chunk) {
        Sum sum;
        const int64_t end = std::min(k0 + chunk, K);
        for (int64_t k = k0; k < end; k += 32)
          add_32(sum, a + k, b + k, std::min<int64_t>(32, end - k));
        const double scale = double{scale_of(A, M, rows[i], k0)} * scale_of(B, N, j, k0);
        value += scale * sum.value;
        bound += scale * sum.bound;
        magnitude += scale * (std::abs(sum.value) + sum.bound);
      }
      bound += relative * magnitude;
    }
  return in_bf16(want);
}

}  // namespace tutorial::tiled_matmul::fp8
