#include "tf32/errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/measure/row_major_blas.hpp"

namespace tutorial::tiled_matmul::tf32 {
namespace {

/// "  fp32     1.1e-06  1.0e-05": the error of these rows of C, the root of its mean square and the
/// largest, as parts of the root of the mean square of C itself.
std::string error_line(const char* name, const std::vector<float>& C, const Expected& want,
                       std::span<const int64_t> rows, int64_t N) {
  double squares = 0, squares_of_c = 0, largest = 0;
  for (size_t i = 0; i < want.value.size(); ++i) {
    const double error = C[rows[i / N] * N + i % N] - want.value[i];
    squares += error * error;
    squares_of_c += want.value[i] * want.value[i];
    largest = std::max(largest, std::abs(error));
  }
  const double count = std::max<double>(1, want.value.size()), whole = std::sqrt(squares_of_c);
  char line[100];
  std::snprintf(line, sizeof line, "  %-15s  %.1e  %.1e", name, std::sqrt(squares) / whole,
                largest / (whole / std::sqrt(count)));
  return line;
}

}  // namespace

void note_errors(Table& table, Input& input_a, Input& input_b, const Tf32Product& product,
                 const Expected& exact, std::span<const int64_t> rows) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const float *a = input_a.device(), *b = input_b.device();
  DeviceBuffer<float> c(M * N);
  table.note("error against double, of " + count_text(static_cast<int64_t>(rows.size())) +
             " rows, as a part of C's root mean square:");
  table.note("                   rms      largest");
  const auto note_error = [&](const char* name, const std::function<void()>& launch) {
    c.poison();  // or what stands there is as exact as the one before
    table.watch("the errors", launch);
    table.note(error_line(name, c.to_host(), exact, rows, N));
  };
  const CublasHandle handle;
  const DeviceBuffer<__nv_bfloat16> a_bf16(narrowed<__nv_bfloat16>(input_a.host()));
  const DeviceBuffer<__nv_bfloat16> b_bf16(narrowed<__nv_bfloat16>(input_b.host()));
  note_error("bf16, cuBLAS",
             [&] { row_major_gemm(handle, M, N, K, a_bf16.data(), b_bf16.data(), c.data()); });
  const auto note_step = [&](const char* name, Launcher* launch) {
    note_error(name, [&] { launch(product, a, b, c.data(), nullptr); });
  };
  note_step("one_product", one_product);
  note_step("three_products", three_products);
  note_step("partial_sums", partial_sums);
  note_step("deep_tiles", deep_tiles);  // the later steps' bits are the same
  note_error("fp32, cuBLAS", [&] { row_major_gemm(handle, M, N, K, 1, a, b, 0, c.data()); });
}

}  // namespace tutorial::tiled_matmul::tf32
