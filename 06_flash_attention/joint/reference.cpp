// The CPU reference: an element of ỹ = A·B at a time, in double, and what it adds to a row of y.
#include "joint/joint.hpp"

#include <cmath>

namespace tutorial::flash_attention::joint {

// ỹ = A·B is a float32 dot product of k terms, with error gamma(k)·Σ|a||b|. y = ỹ·C is one of n
// terms, which sees ỹ's errors too: together at most gamma(n + k) · Σ (Σ|a||b|)·|c|.
Expected reference(std::span<const float> A, std::span<const float> B, std::span<const float> C,
                   int64_t n, int64_t k, std::span<const int64_t> rows) {
  Expected want{std::vector<double>(rows.size() * k), std::vector<double>(rows.size() * k)};
  for (size_t r = 0; r < rows.size(); ++r)
    for (int64_t j = 0; j < n; ++j) {
      double y_tilde = 0, magnitude = 0;
      for (int64_t x = 0; x < k; ++x) {
        const double product = static_cast<double>(A[rows[r] * k + x]) * B[x * n + j];
        y_tilde += product;
        magnitude += std::abs(product);
      }
      for (int64_t x = 0; x < k; ++x) {
        want.value[r * k + x] += y_tilde * C[j * k + x];
        want.bound[r * k + x] += gamma_bound(n + k) * magnitude * std::abs(C[j * k + x]);
      }
    }
  return want;
}

}  // namespace tutorial::flash_attention::joint
