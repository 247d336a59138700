#include "fp16/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/compare/compare.hpp"
#include "common/data/narrow.hpp"
#include "common/data/text.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::fp16 {
namespace {

constexpr int64_t ROWS = 16;  // of C are enough for a mean

/// The root of the mean square of what the rounded product and the exact one differ by, as a part
/// of the exact one's.
double difference(const std::vector<double>& rounded, const std::vector<double>& exact) {
  double squares = 0, of_exact = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    squares += (rounded[i] - exact[i]) * (rounded[i] - exact[i]);
    of_exact += exact[i] * exact[i];
  }
  return of_exact == 0 ? 0 : std::sqrt(squares / of_exact);
}

}  // namespace

RoundingErrors rounding_errors(std::span<const float> A, std::span<const float> B, int64_t N,
                               int64_t K, std::span<const int64_t> rows) {
  const auto product = [&](std::span<const float> a, std::span<const float> b) {
    return tensor_cores::reference(a, b, N, K, rows).value;
  };
  const std::vector<double> exact = product(A, B);
  return {.fp16 = difference(product(rounded_to<__half>(A), rounded_to<__half>(B)), exact),
          .bf16 = difference(product(rounded_to<__nv_bfloat16>(A), rounded_to<__nv_bfloat16>(B)),
                             exact)};
}

std::string rounding_line(const std::vector<float>& A, const std::vector<float>& B,
                          const HalfProduct& product) {
  const auto [M, N, K] = product;
  if (M * N * K == 0) return "";
  if (const int64_t count = count_overflows<__half>(A) + count_overflows<__half>(B); count > 0)
    return count_text(count) +
           (count == 1 ? " element of A and B is" : " elements of A and B are") +
           " beyond fp16's largest number, 65504, and infinite in fp16; bf16 reaches as far as "
           "fp32";
  const RoundingErrors errors = rounding_errors(A, B, N, K, sample_rows(M, std::min(M, ROWS), 1));
  char line[120];
  std::snprintf(line, sizeof line,
                "to round A and B moves C by %.2g of its root mean square in fp16, by %.2g in bf16",
                errors.fp16, errors.bf16);
  return line;
}

}  // namespace tutorial::tiled_matmul::fp16
