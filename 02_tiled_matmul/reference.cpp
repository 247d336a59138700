#include <cmath>

#include "02_tiled_matmul.hpp"

namespace tutorial::tiled_matmul {

Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows) {
  const double gamma = gamma_bound(K);
  Expected want{std::vector<double>(rows.size() * N), std::vector<double>(rows.size() * N)};
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t k = 0; k < K; ++k) {
      const double a = A[rows[i] * K + k];
      for (int64_t j = 0; j < N; ++j) {
        const double product = a * B[k * N + j];  // exact: 24 + 24 bits fit into 53
        want.value[i * N + j] += product;
        want.bound[i * N + j] += gamma * std::abs(product);
      }
    }
  }
  return want;
}

}  // namespace tutorial::tiled_matmul
