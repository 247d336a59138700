// The order in which three products are added: the small ones of eight elements of K first, lest
// the large one swallow their bits.
#include <cmath>

#include "common/testing/testing.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {
namespace {

/// What one mma adds to a sum where it rounds once: eight exact products.
void add_eight(float& sum, const float* a, const float* b) {
  double all = sum;
  for (int k = 0; k < 8; ++k) all += double{a[k]} * b[k];
  sum = static_cast<float>(all);
}

/// Of a number's 24 bits 11 as to_tf32() rounds them, and the next 11.
std::vector<float> low_part(const std::vector<float>& x, const std::vector<float>& high) {
  std::vector<float> low;
  for (size_t i = 0; i < x.size(); ++i) {
    const float rest = x[i] - high[i];
    const float last = rest == 0 ? 1 : std::ldexp(1.0f, std::ilogb(rest) - 10);
    low.push_back(std::trunc(rest / last) * last);
  }
  return low;
}

/// a·b as a step adds it up that takes `depth` elements of K at a time into a sum of their own, or
/// all into one.
float in_order(const std::vector<float>& a, const std::vector<float>& b, size_t depth) {
  const std::vector<float> a_high = rounded_to_tf32(a), b_high = rounded_to_tf32(b);
  const std::vector<float> a_low = low_part(a, a_high), b_low = low_part(b, b_high);
  float sum = 0;
  for (size_t tile = 0; tile < a.size(); tile += depth) {
    float part = 0;
    for (size_t k = tile; k < tile + depth; k += 8) {
      add_eight(part, &a_low[k], &b_high[k]);
      add_eight(part, &a_high[k], &b_low[k]);
      add_eight(part, &a_high[k], &b_high[k]);
    }
    sum += part;
  }
  return sum;
}

}  // namespace

// A backend without a clock has an mma that rounds once; what a GPU's does inside is not specified.
TEST_CASE("TF32: the small products come before the large one, to the bit") {
  const auto step = EACH_STEP(steps);
  if (step.features != THREE_PRODUCTS || !is_in_sample(step.name)) return;
  if (device_has_clock()) SKIP("what an mma of a GPU cuts off is not specified");
  CAPTURE(step.name);
  const int64_t M = 20, N = 12, K = 128;
  const size_t depth = step.launch == &three_products ? K : step.launch == &partial_sums ? 16 : 32;
  const std::vector<float> A = make_values({M, K}, Init::uniform, 1),
                           B = make_values({K, N}, Init::uniform, 2);
  const DeviceBuffer<float> a(A), b(B);
  DeviceBuffer<float> c(M * N);
  step.launch({M, N, K}, a.data(), b.data(), c.data(), nullptr);
  const std::vector<float> got = c.to_host();
  int64_t others = 0;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      std::vector<float> row(A.begin() + i * K, A.begin() + (i + 1) * K), column;
      for (int64_t k = 0; k < K; ++k) column.push_back(B[k * N + j]);
      others += got[i * N + j] != in_order(row, column, depth);
    }
  CHECK(others == 0);
}

}  // namespace tutorial::tiled_matmul::tf32
