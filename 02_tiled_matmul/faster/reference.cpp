#include <cmath>

#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {

Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows, float alpha, float beta,
                   std::span<const float> before) {
  // A kernel rounds K products and their sums, then multiplies by alpha and adds beta·C.
  const double gamma = gamma_bound(K + 2);
  Expected want{std::vector<double>(rows.size() * N), std::vector<double>(rows.size() * N)};
  const auto add = [&](int64_t element, double term) {
    want.value[element] += term;
    want.bound[element] += gamma * std::abs(term);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t k = 0; k < K && alpha != 0; ++k) {
      const double a = double{alpha} * A[rows[i] * K + k];
      for (int64_t j = 0; j < N; ++j) add(i * N + j, a * B[k * N + j]);
    }
    for (int64_t j = 0; j < N && beta != 0; ++j)
      add(i * N + j, double{beta} * before[rows[i] * N + j]);
  }
  return want;
}

}  // namespace tutorial::tiled_matmul::faster
