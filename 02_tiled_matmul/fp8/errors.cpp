#include "fp8/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/measure/row_major_blas.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::fp8 {
namespace {

/// The error of a row of C as a part of the row's own size, both as roots of mean squares; of these
/// rows the root of the mean square.
double error_of(const std::vector<float>& C, const std::vector<double>& want,
                std::span<const int64_t> rows, int64_t N) {
  double all = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    double squares = 0, of_row = 0;
    for (int64_t j = 0; j < N; ++j) {
      squares += std::pow(C[rows[i] * N + j] - want[i * N + j], 2);
      of_row += std::pow(want[i * N + j], 2);
    }
    all += of_row == 0 ? squares : squares / of_row;
  }
  return std::sqrt(all / static_cast<double>(std::max<size_t>(1, rows.size())));
}

/// Rows of A·Bᵀ in double.
std::vector<double> exact_rows(const std::vector<float>& A, const std::vector<float>& B, int64_t N,
                               int64_t K, std::span<const int64_t> rows) {
  std::vector<double> result(rows.size() * N);
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t j = 0; j < N; ++j)
      for (int64_t k = 0; k < K; ++k)
        result[i * N + j] += double{A[rows[i] * K + k]} * B[j * K + k];
  return result;
}

}  // namespace

void note_errors(Table& table, const std::vector<float>& A, const std::vector<float>& B,
                 const Fp8Product& product, std::span<const int64_t> rows,
                 const std::function<StepResult(const Step<Launcher>&)>& multiply) {
  const auto [M, N, K] = product;
  const std::vector<double> want = exact_rows(A, B, N, K, rows);
  table.note("error against double, of " + count_text(static_cast<int64_t>(rows.size())) +
             " rows, each as a part of its own root mean square:");
  table.note("                   of A·B   of the rounded operands' product");
  const auto note = [&](const std::string& name, const std::vector<float>& C,
                        const std::vector<double>* of_rounded = nullptr) {
    char line[100], second[20] = "";
    if (of_rounded != nullptr)
      std::snprintf(second, sizeof second, "  %.1e", error_of(C, *of_rounded, rows, N));
    std::snprintf(line, sizeof line, "  %-15s  %.1e%s", name.c_str(), error_of(C, want, rows, N),
                  second);
    table.note(line);
  };
  for (const auto& step : steps) {
    const StepResult result = multiply(step);
    note(step.name, result.C, &result.of_rounded);
  }

  std::vector<float> B_as_rows(B.size());  // (K, N), as the others take it
  for (int64_t j = 0; j < N; ++j)
    for (int64_t k = 0; k < K; ++k) B_as_rows[k * N + j] = B[j * K + k];
  const DeviceBuffer<float> a(A), b(B_as_rows);
  const DeviceBuffer<bf16> a_bf16(narrowed<bf16>(A)), b_bf16(narrowed<bf16>(B_as_rows));
  DeviceBuffer<float> c(M * N);
  const auto note_other = [&](const char* name, const std::function<void()>& launch) {
    table.watch("the errors", launch);
    note(name, c.to_host());
  };
  const CublasHandle handle;
  note_other("bf16, cuBLAS",
             [&] { row_major_gemm(handle, M, N, K, a_bf16.data(), b_bf16.data(), c.data()); });
  note_other("TF32, one", [&] {
    tf32::one_product({.M = M, .N = N, .K = K}, a.data(), b.data(), c.data(), nullptr);
  });
  note_other("fp32, cuBLAS",
             [&] { row_major_gemm(handle, M, N, K, 1, a.data(), b.data(), 0, c.data()); });
}

}  // namespace tutorial::tiled_matmul::fp8
