// cuBLAS for row-major matrices: against plain loops, at the edges, and what it refuses.
#include "common/row_major_blas.hpp"

#include <cmath>

#include "common/error.hpp"
#include "common/testing.hpp"

using namespace tutorial;

namespace {

struct Problem {
  int64_t batch, M, N, K;
  float alpha, beta;
  Transpose transpose;
};

/// C = alpha·A·B + beta·C of each of the batch; A, B and C hold one matrix after the other.
Expected expected(const Problem& p, const std::vector<float>& A, const std::vector<float>& B,
                  const std::vector<float>& before) {
  const int64_t size = p.batch * p.M * p.N;
  Expected want{std::vector<double>(size), std::vector<double>(size)};
  for (int64_t e = 0; e < size; ++e) {
    const int64_t b = e / (p.M * p.N), i = e / p.N % p.M, j = e % p.N;
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < p.K; ++k) {
      const int64_t place = p.transpose == Transpose::b ? j * p.K + k : k * p.N + j;
      const double product = double{A[(b * p.M + i) * p.K + k]} * B[b * p.K * p.N + place];
      sum += product;
      magnitude += std::abs(product);
    }
    const double old = p.beta == 0 ? 0 : double{p.beta} * before[e];
    want.value[e] = p.alpha * sum + old;
    want.bound[e] = gamma_bound(p.K + 2) * (std::abs(p.alpha) * magnitude + std::abs(old));
  }
  return want;
}

void check(const Problem& p) {
  INFO("batch=" << p.batch << " M=" << p.M << " N=" << p.N << " K=" << p.K << " alpha=" << p.alpha
                << " beta=" << p.beta << (p.transpose == Transpose::b ? " B transposed" : ""));
  const CublasHandle handle;
  const auto A = make_values({p.batch, p.M, p.K}, Init::normal, 1);
  const auto B = make_values({p.batch, p.K, p.N}, Init::normal, 2);
  std::vector<float> before;  // with beta = 0 C holds NaN, which must not show
  if (p.beta != 0) before = make_values({p.batch, p.M, p.N}, Init::normal, 3);
  const DeviceBuffer<float> a(A), b(B);
  const Expected want = expected(p, A, B, before);
  const Layout layout = {.batch = p.batch, .rows = p.M, .cols = p.N};
  check_launch(
      [&](float* C) {
        row_major_gemm_batched(handle, p.batch, p.M, p.N, p.K, p.alpha, a.data(), p.M * p.K,
                               b.data(), p.K * p.N, p.beta, C, p.M * p.N, p.transpose);
      },
      want, layout, 0, before);
  if (p.batch == 1)
    check_launch(
        [&](float* C) {
          row_major_gemm(handle, p.M, p.N, p.K, p.alpha, a.data(), b.data(), p.beta, C,
                         p.transpose);
        },
        want, layout, 0, before);
}

}  // namespace

TEST_CASE("row-major products by cuBLAS") {
  for (const Transpose transpose : {Transpose::none, Transpose::b}) {
    check({1, 5, 7, 3, 1, 0, transpose});
    check({1, 5, 7, 3, -2, 0.5f, transpose});
    check({3, 6, 2, 9, 1, 0, transpose});
    check({2, 4, 11, 8, 0.25f, 1, transpose});
    check({1, 1, 1, 1, 1, 0, transpose});
    check({1, 33, 1, 65, 1, 0, transpose});
    check({1, 1, 33, 65, 1, 0, transpose});
  }
}

TEST_CASE("row-major products by cuBLAS: nothing to add gives beta·C, an empty C is left alone") {
  for (const Transpose transpose : {Transpose::none, Transpose::b}) {
    check({1, 5, 7, 0, 1, 0, transpose});
    check({1, 5, 7, 0, 1, -2, transpose});
    check({2, 5, 7, 0, 1, 3, transpose});
    check({1, 0, 7, 3, 1, 0, transpose});
    check({1, 5, 0, 3, 1, 0, transpose});
    check({0, 5, 7, 3, 1, 0, transpose});
  }
}

TEST_CASE("row-major products by cuBLAS: one B for the whole batch has stride 0") {
  const CublasHandle handle;
  const int64_t batch = 2, M = 3, N = 4, K = 5;
  const auto A = make_values({batch, M, K}, Init::normal, 1);
  const auto B = make_values({K, N}, Init::normal, 2);
  const DeviceBuffer<float> a(A), b(B);
  std::vector<float> B_twice = B;
  B_twice.insert(B_twice.end(), B.begin(), B.end());
  check_launch(
      [&](float* C) {
        row_major_gemm_batched(handle, batch, M, N, K, 1, a.data(), M * K, b.data(), 0, 0, C,
                               M * N);
      },
      expected({batch, M, N, K, 1, 0, Transpose::none}, A, B_twice, {}),
      {.batch = batch, .rows = M, .cols = N});
}

TEST_CASE("row-major products by cuBLAS: a size that its int cannot hold is refused") {
  const CublasHandle handle;
  const int64_t large = int64_t{1} << 31;
  DeviceBuffer<float> x(1);
  const auto gemm = [&](int64_t batch, int64_t M, int64_t N, int64_t K) {
    row_major_gemm_batched(handle, batch, M, N, K, 1, x.data(), 0, x.data(), 0, 0, x.data(), 0);
  };
  CHECK_THROWS_AS(gemm(1, large, 1, 1), Error);
  CHECK_THROWS_AS(gemm(1, 1, large, 1), Error);
  CHECK_THROWS_AS(gemm(1, 1, 1, large), Error);
  CHECK_THROWS_AS(gemm(large, 1, 1, 1), Error);
  CHECK_THROWS_AS(row_major_gemm(handle, large, 1, 1, 1, x.data(), x.data(), 0, x.data()), Error);
  CHECK_THROWS_AS(gemm(1, -1, 1, 1), Error);
}

TEST_CASE("a TF32 handle is as exact as TF32 at least") {
  const CublasHandle handle(Precision::tf32);
  const int64_t M = 16, N = 24, K = 32;
  const auto A = make_values({M, K}, Init::normal, 1);
  const auto B = make_values({K, N}, Init::normal, 2);
  const DeviceBuffer<float> a(A), b(B);
  Expected want = expected({1, M, N, K, 1, 0, Transpose::none}, A, B, {});
  // Each input is rounded to 11 significant bits: at most 2^-11 of it is lost, 2^-10 if cut off.
  for (double& bound : want.bound) bound *= 1 + (2 * 0x1p-10 + 0x1p-20) / gamma_bound(K + 2);
  check_launch([&](float* C) { row_major_gemm(handle, M, N, K, 1, a.data(), b.data(), 0, C); },
               want, {.rows = M, .cols = N});
}
