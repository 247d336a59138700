// cuBLAS for row-major matrices: against plain loops, at the edges, and what it refuses.
#include "common/measure/row_major_blas.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "common/kernel/error.hpp"
#include "common/testing/testing.hpp"

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

TEST_CASE("row-major products of fp16 by cuBLAS") {
  const CublasHandle handle;
  const std::vector<__half> A = {1, 2, 3, 4, 5, 6};  // (2, 3)
  const std::vector<__half> B = {1, 0, 2, 1, 0, 3};  // (3, 2)
  const DeviceBuffer<__half> a(A), b(B);
  DeviceBuffer<float> c(4);
  DeviceBuffer<__half> narrow(4);
  row_major_gemm(handle, 2, 2, 3, a.data(), b.data(), c.data());
  row_major_gemm(handle, 2, 2, 3, a.data(), b.data(), narrow.data());
  const std::vector<float> want = {5, 11, 14, 23};
  CHECK(c.to_host() == want);
  CHECK(widened<__half>(narrow.to_host()) == want);
}

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

TEST_CASE("row-major products by cuBLAS: matrices anywhere, with rows further apart") {
  const CublasHandle handle;
  for (const Transpose transpose : {Transpose::none, Transpose::b})
    for (const auto& [batch, M, N, K] : {std::array<int64_t, 4>{3, 5, 7, 4},
                                         {1, 1, 1, 1},
                                         {2, 33, 9, 65},
                                         {2, 4, 3, 0},
                                         {0, 4, 3, 2},
                                         {2, 0, 3, 2}}) {
      const Problem p = {batch, M, N, K, -1.5f, 0, transpose};
      const auto A = make_values({batch, M, K}, Init::normal, 1);
      const auto B = make_values({batch, K, N}, Init::normal, 2);
      const int64_t b_rows = transpose == Transpose::b ? N : K, b_cols = K + N - b_rows;
      // All A in one array and all B in another: product i's are the columns from i·cols on, which
      // is how heads lie in a row of channels.
      const int64_t lda = batch * K + 2, ldb = batch * b_cols + 1, ldc = batch * N + 3;
      std::vector<float> a(M * lda), b(b_rows * ldb);
      for (int64_t i = 0; i < batch; ++i) {
        for (int64_t e = 0; e < M * K; ++e) a[e / K * lda + i * K + e % K] = A[i * M * K + e];
        for (int64_t e = 0; e < K * N; ++e)
          b[e / b_cols * ldb + i * b_cols + e % b_cols] = B[i * K * N + e];
      }
      const DeviceBuffer<float> device_a(a, 1), device_b(b, 3);
      // What lies between the rows of C stays as it was.
      const std::vector<float> before = make_values({M, ldc}, Init::normal, 3);
      const Expected products = expected(p, A, B, {});
      Expected want{{before.begin(), before.end()}, std::vector<double>(before.size())};
      for (int64_t e = 0; e < batch * M * N; ++e) {
        const int64_t place = e / N % M * ldc + e / (M * N) * N + e % N;
        want.value[place] = products.value[e];
        want.bound[place] = products.bound[e];
      }
      INFO("batch=" << batch << " M=" << M << " N=" << N << " K=" << K);
      check_launch(
          [&](float* C) {
            std::vector<const float*> at_a, at_b;
            std::vector<float*> at_c;
            for (int64_t i = 0; i < batch; ++i) {
              at_a.push_back(device_a.data() + i * K);
              at_b.push_back(device_b.data() + i * b_cols);
              at_c.push_back(C + i * N);
            }
            const DeviceBuffer<const float*> list_a(at_a), list_b(at_b);
            const DeviceBuffer<float*> list_c(at_c);
            row_major_gemm_pointers(handle, batch, M, N, K, p.alpha, list_a.data(), lda,
                                    list_b.data(), ldb, p.beta, list_c.data(), ldc, transpose);
            CUDA_CHECK(cudaDeviceSynchronize());  // before the lists go
          },
          want, {.rows = M, .cols = ldc}, 2, before);
    }
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
  const auto pointers = [&](int64_t lda, int64_t ldb, int64_t ldc) {
    row_major_gemm_pointers(handle, 1, 1, 1, 1, 1, nullptr, lda, nullptr, ldb, 0, nullptr, ldc);
  };
  CHECK_THROWS_AS(pointers(large, 1, 1), Error);
  CHECK_THROWS_AS(pointers(1, large, 1), Error);
  CHECK_THROWS_AS(pointers(1, 1, large), Error);
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
  const DeviceBuffer<const float*> at_a(std::vector<const float*>{a.data()}),
      at_b(std::vector<const float*>{b.data()});
  const auto pointers = [&](const CublasHandle& how, float* C) {
    const DeviceBuffer<float*> at_c(std::vector<float*>{C});
    row_major_gemm_pointers(how, 1, M, N, K, 1, at_a.data(), K, at_b.data(), N, 0, at_c.data(), N);
    CUDA_CHECK(cudaDeviceSynchronize());
  };
  check_launch([&](float* C) { pointers(handle, C); }, want, {.rows = M, .cols = N});
  // And an fp32 handle is more exact than that.
  check_launch([&](float* C) { pointers(CublasHandle(), C); },
               expected({1, M, N, K, 1, 0, Transpose::none}, A, B, {}), {.rows = M, .cols = N});
}

TEST_CASE("cuBLAS multiplies bf16 matrices, into float32 and into bf16") {
  using Bf16 = __nv_bfloat16;
  const CublasHandle handle;
  for (auto [M, N, K] :
       std::vector<std::array<int64_t, 3>>{{3, 5, 7}, {64, 40, 33}, {1, 1, 1}, {2, 3, 0}}) {
    INFO("M=" << M << " N=" << N << " K=" << K);
    const auto A = rounded_to<Bf16>(make_values({M, K}, Init::normal, 1));
    const auto B = rounded_to<Bf16>(make_values({K, N}, Init::normal, 2));
    const DeviceBuffer<Bf16> a(narrowed<Bf16>(A)), b(narrowed<Bf16>(B));
    Expected want = expected({1, M, N, K, 1, 0, Transpose::none}, A, B, {});
    for (double& bound : want.bound) bound *= 2;  // tensor cores cut where others round
    const Layout layout = {.rows = M, .cols = N};
    check_launch([&](float* C) { row_major_gemm(handle, M, N, K, a.data(), b.data(), C); }, want,
                 layout);
    check_launch([&](Bf16* C) { row_major_gemm(handle, M, N, K, a.data(), b.data(), C); },
                 in_bf16(want), layout);
  }
}

TEST_CASE("cuBLAS multiplies batches of bf16 matrices whose rows have gaps, and a transposed B") {
  using Bf16 = __nv_bfloat16;
  const CublasHandle handle;
  for (Transpose transpose : {Transpose::none, Transpose::b})
    for (int64_t batch : {1, 3}) {
      const Problem p = {batch, 5, 7, 6, 1, 0, transpose};
      const int64_t rows = transpose == Transpose::b ? p.N : p.K, cols = p.K + p.N - rows;
      const auto A = rounded_to<Bf16>(make_values({batch, p.M, p.K}, Init::normal, 1));
      const auto B = rounded_to<Bf16>(make_values({batch, p.K, p.N}, Init::normal, 2));
      // Rows 3 further apart than they are long, with NaN between them.
      const auto spread = [&](const std::vector<float>& x, int64_t length) {
        std::vector<float> with_gaps;
        for (size_t i = 0; i < x.size(); ++i) {
          with_gaps.push_back(x[i]);
          if ((i + 1) % length == 0) with_gaps.insert(with_gaps.end(), 3, NAN);
        }
        return narrowed<Bf16>(with_gaps);
      };
      const DeviceBuffer<Bf16> a(spread(A, p.K)), b(spread(B, cols));
      const Bf16Matrices matrices = {.A = a.data(),
                                     .B = b.data(),
                                     .lda = p.K + 3,
                                     .ldb = cols + 3,
                                     .ldc = p.N,
                                     .stride_a = p.M * (p.K + 3),
                                     .stride_b = rows * (cols + 3),
                                     .stride_c = p.M * p.N};
      Expected want = expected(p, A, B, {});
      for (double& bound : want.bound) bound *= 2;  // tensor cores cut where others round
      const Layout layout = {.batch = batch, .rows = p.M, .cols = p.N};
      const auto multiply = [&](auto* C) {
        row_major_gemm_batched(handle, batch, p.M, p.N, p.K, matrices, C, transpose);
      };
      check_launch([&](float* C) { multiply(C); }, want, layout);
      check_launch([&](Bf16* C) { multiply(C); }, in_bf16(want), layout);
    }
}

TEST_CASE("an empty product is none, of any type") {
  const CublasHandle handle;
  const auto* const bf16 = static_cast<const __nv_bfloat16*>(nullptr);
  const auto* const half = static_cast<const __half*>(nullptr);
  float* const C = nullptr;
  for (const auto& [M, N] : {std::pair<int64_t, int64_t>{0, 3}, {3, 0}}) {
    CAPTURE(M, N);
    CHECK_NOTHROW(row_major_gemm(handle, M, N, 2, bf16, bf16, C));
    CHECK_NOTHROW(row_major_gemm(handle, M, N, 2, half, half, C));
    CHECK_NOTHROW(
        row_major_gemm_pointers(handle, 1, M, N, 2, 1, nullptr, 2, nullptr, N, 0, nullptr, N));
  }
  CHECK_NOTHROW(row_major_gemm_batched(handle, 0, 3, 3, 2, Bf16Matrices{}, C));
}

TEST_CASE("a call of cuBLAS that fails is an error, with its place") {
  CHECK_THROWS_WITH(check_cublas(CUBLAS_STATUS_NOT_SUPPORTED, "multiply()", "step.cu", 7),
                    Catch::Matchers::ContainsSubstring("step.cu:7: multiply(): ") &&
                        Catch::Matchers::ContainsSubstring("CUBLAS_STATUS_NOT_SUPPORTED"));
}
