#include "fp8/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/measure/row_major_blas.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::fp8 {

Errors::Errors(const std::vector<float>& A, const std::vector<float>& B, const Fp8Product& product,
               std::span<const int64_t> rows)
    : A_(A), B_(B.size()), product_(product), rows_(rows) {
  const auto [M, N, K] = product;
  for (int64_t j = 0; j < N; ++j)
    for (int64_t k = 0; k < K; ++k) B_[k * N + j] = B[j * K + k];
  exact_ = tensor_cores::reference(A, B_, N, K, rows).value;
}

/// The error of a row of C as a part of the row's own size, both as roots of mean squares; of these
/// rows the root of the mean square.
double Errors::error_of(std::span<const float> C, const std::vector<double>& want) const {
  const int64_t N = product_.N;
  double all = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    double squares = 0, of_row = 0;
    for (int64_t j = 0; j < N; ++j) {
      squares += std::pow(C[rows_[i] * N + j] - want[i * N + j], 2);
      of_row += std::pow(want[i * N + j], 2);
    }
    all += of_row == 0 ? squares : squares / of_row;
  }
  return std::sqrt(all / static_cast<double>(std::max<size_t>(1, rows_.size())));
}

void Errors::add(const std::string& name, std::span<const float> C,
                 const std::vector<double>& of_rounded) {
  char line[100];
  std::snprintf(line, sizeof line, "  %-15s  %.1e  %.1e", name.c_str(), error_of(C, exact_),
                error_of(C, of_rounded));
  lines_.push_back(line);
}

void Errors::note(Table& table) {
  const auto [M, N, K] = product_;
  table.note("error against double, of " + count_text(static_cast<int64_t>(rows_.size())) +
             " rows, each as a part of its own root mean square:");
  table.note("                   of A·B   of the rounded operands' product");
  for (const std::string& line : lines_) table.note(line);

  const DeviceBuffer<float> a(A_), b(B_);
  const DeviceBuffer<bf16> a_bf16(narrowed<bf16>(A_)), b_bf16(narrowed<bf16>(B_));
  DeviceBuffer<float> c(M * N);
  const auto note_other = [&](const char* name, const std::function<void()>& launch) {
    table.watch("the errors", launch);
    char line[100];
    std::snprintf(line, sizeof line, "  %-15s  %.1e", name, error_of(c.to_host(), exact_));
    table.note(line);
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
