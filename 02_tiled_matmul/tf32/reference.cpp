// The CPU reference: C = A·B in double, and how far tensor cores may be from it.
#include <bit>
#include <cmath>

#include "common/kernel/grid.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {

std::vector<float> rounded_to_tf32(std::span<const float> values) {
  std::vector<float> rounded(values.begin(), values.end());
  for (float& value : rounded)
    if (std::isfinite(value))  // half of the last bit that stays is added, the 13 others are cut
      value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000) & 0xffffe000);
  return rounded;
}

// The sums. The products of TF32 numbers have 22 bits: they are exact. One mma adds eight of them
// to a sum. What it does inside is not specified. Measured: it takes the eight in groups, shifts a
// group's products and the sum so far to the largest one's exponent, cuts what is then below 24
// bits, and cuts the result (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor
// cores", 2021). A group has four products or more. Two groups cut at most 8 + 2·2 = 12 times, by
// 2^-23 of the terms' magnitudes, in each of the mma's that a sum goes through. (A step that adds
// sums outside of the mma has smaller errors.)
//
// The operands, for three products. Of a number a the step takes a_high, which is a rounded to 11
// bits, and a_low, which is a - a_high cut after 11 bits:
//
//   |a_low| <= 2^-11·|a|                      half of the last bit that stayed
//   |a - (a_high + a_low)| <= 2^-23·|a|       12 bits were left, so only the last may be missing
//
// What is then missing of a·b: a_low·b_low, 2^-22·|a·b|, and twice 2^-23·|a·b|. Together 2^-21,
// and a thousandth more for products of these errors.
double relative_bound(int64_t K, unsigned products) {
  const double of_sums = gamma_bound(12 * products * ceil_div(K, 8), 0x1p-23);
  const double of_operands = products == THREE_PRODUCTS ? 1.001 * 0x1p-21 : 0;
  return 1.001 * of_sums + of_operands;  // small products: their magnitudes are a thousandth more
}

Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows, unsigned products) {
  const double relative = relative_bound(K, products);
  Expected want{std::vector<double>(rows.size() * N), std::vector<double>(rows.size() * N)};
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t k = 0; k < K; ++k) {
      const double a = A[rows[i] * K + k];
      for (int64_t j = 0; j < N; ++j) {
        want.value[i * N + j] += a * B[k * N + j];
        want.bound[i * N + j] += relative * std::abs(a * B[k * N + j]);
      }
    }
  return want;
}

}  // namespace tutorial::tiled_matmul::tf32
