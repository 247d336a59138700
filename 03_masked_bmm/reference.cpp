// The CPU reference: the product in double, and the coarse forms of its mask.
#include <algorithm>
#include <cmath>

#include "03_masked_bmm.hpp"

namespace tutorial::masked_bmm {

Expected masked_bmm_reference(const MaskedBmm& p, const Mask& mask, std::span<const float> A,
                              std::span<const float> B, std::span<const int64_t> rows) {
  const int64_t count = rows.empty() ? p.batch * p.M : static_cast<int64_t>(rows.size());
  Expected want{std::vector<double>(count * p.N), std::vector<double>(count * p.N)};
  const double gamma = gamma_bound(p.K);
  for (int64_t r = 0; r < count; ++r) {
    const int64_t row = rows.empty() ? r : rows[r];  // of batch·M
    const int64_t b = row / p.M, i = row % p.M;
    double* value = want.value.data() + r * p.N;
    double* bound = want.bound.data() + r * p.N;
    for (int64_t k = 0; k < p.K; ++k) {
      const double a = A[row * p.K + k];
      const float* b_row = B.data() + (b * p.K + k) * p.N;
      for (int64_t j = 0; j < p.N; ++j) {
        value[j] += a * b_row[j];
        bound[j] += std::abs(a * b_row[j]);
      }
    }
    const uint8_t* keep = mask.keep.data() + ((mask.per_batch ? b : 0) * p.M + i) * p.N;
    for (int64_t j = 0; j < p.N; ++j) {
      value[j] = keep[j] != 0 ? value[j] : p.fill;
      bound[j] = keep[j] != 0 ? bound[j] * gamma : 0.0;
    }
  }
  return want;
}

std::vector<Kept> coarse_mask_reference(const Mask& mask, int64_t M, int64_t N, int64_t tile) {
  const int64_t masks = M * N == 0 ? 0 : static_cast<int64_t>(mask.keep.size()) / (M * N);
  std::vector<Kept> coarse;
  for (int64_t m = 0; m < masks; ++m) {
    for (int64_t row0 = 0; row0 < M; row0 += tile) {
      for (int64_t col0 = 0; col0 < N; col0 += tile) {
        int64_t elements = 0, kept = 0;
        for (int64_t i = row0; i < std::min(row0 + tile, M); ++i) {
          for (int64_t j = col0; j < std::min(col0 + tile, N); ++j) {
            elements += 1;
            kept += mask.keep[(m * M + i) * N + j] != 0;
          }
        }
        coarse.push_back(kept == 0 ? Kept::none : kept == elements ? Kept::all : Kept::some);
      }
    }
  }
  return coarse;
}

}  // namespace tutorial::masked_bmm
