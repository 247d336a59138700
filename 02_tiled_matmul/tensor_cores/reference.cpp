// The CPU reference: the products of bf16 numbers are exact in double, and are added up in double.
#include <cmath>

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

// A product of two bf16 numbers has 16 bits and is exact in fp32, but tensor cores do not add as
// fp32 arithmetic does. By measurement (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of
// NVIDIA tensor cores", 2021) they take 4, 8 or more products and the sum so far at once, align
// all of these addends to the largest one, cut each off behind 24 bits, and cut off the result.
//
// Let u = 2^-24 and S = Σ|a||b|. To cut a number off behind 24 bits of the largest addend, which
// is at most S, moves it by at most 2u·S. That happens to each of the K products once, and for each
// group, of which there are at most ⌈K/4⌉, to the sum so far and to the result. Together at most
// 2u·S·(K + 2·⌈K/4⌉) <= u·S·(3·K + 4); gamma_bound() has the terms of higher order, too.
Expected reference(std::span<const float> A, std::span<const float> B, int64_t N, int64_t K,
                   std::span<const int64_t> rows) {
  const double gamma = gamma_bound(3 * K + 4);
  Expected want{std::vector<double>(rows.size() * N), std::vector<double>(rows.size() * N)};
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t k = 0; k < K; ++k) {
      const double a = A[rows[i] * K + k];
      for (int64_t j = 0; j < N; ++j) {
        const double product = a * B[k * N + j];
        want.value[i * N + j] += product;
        want.bound[i * N + j] += gamma * std::abs(product);
      }
    }
  }
  return want;
}

}  // namespace tutorial::tiled_matmul::tensor_cores
