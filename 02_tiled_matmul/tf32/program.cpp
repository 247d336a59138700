// The program's part tf32: float32 matrices on tensor cores, and how exact each way to multiply is.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"
#include "tf32/tf32.hpp"

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

void body(Chapter& chapter) {
  int64_t M, N, K;
  chapter.size("--m", M, {.gpu = 4096, .cpu = 256}, "rows of A and C");
  chapter.size("--n", N, {.gpu = 4096, .cpu = 200}, "columns of B and C");
  chapter.size("--k", K, {.gpu = 4096, .cpu = 160}, "columns of A, rows of B");
  Input& input_a = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix");
  Input& input_b = chapter.input("b", {{"--k"}, {"--n"}}, "the right matrix");
  chapter.steps(steps);
  chapter.parse();
  chapter.symbols({{"M", M}, {"N", N}, {"K", K}});
  chapter.require_a_step(steps,
                         [](Launcher* launch) { launch(nullptr, nullptr, nullptr, 0, 0, 0); });

  const double m = M, n = N, k = K;
  chapter.problem(
      "C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" + shape_text({K, N}) +
          "], fp32 as one or three products of TF32",
      {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n), .arithmetic = Arithmetic::tf32},
      {M, N});

  // The whole result where the host can afford a reference, else 16 rows and the sums of the
  // others.
  const std::vector<float>& A = input_a.host();
  const std::vector<float>& B = input_b.host();
  const bool is_small = m * n * k <= 1e8;
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 16, chapter.seed());
  const auto check_of = [&](const std::vector<float>& left, const std::vector<float>& right,
                            const Expected& want, unsigned products) -> Check {
    return [&, products](std::span<const float> got, const Layout& layout) {
      const Comparison some = compare_rows(got, want, rows, layout);
      if (!some.ok || is_small) return some;
      const Comparison sums = freivalds(left, right, got, M, N, K, chapter.seed(), layout,
                                        relative_bound(K, products) / gamma_bound(K));
      return sums.ok ? some : sums;
    };
  };
  const std::vector<float> A_rounded = rounded_to_tf32(A), B_rounded = rounded_to_tf32(B);
  const Expected exact = reference(A, B, N, K, rows, THREE_PRODUCTS);
  const Expected of_rounded = reference(A_rounded, B_rounded, N, K, rows, ONE_PRODUCT);
  const Check check_one = check_of(A_rounded, B_rounded, of_rounded, ONE_PRODUCT);
  chapter.check_with(check_of(A, B, exact, THREE_PRODUCTS));

  const float* a = input_a.device();
  const float* b = input_b.device();
  for (const auto& step : steps)
    if (chapter.selected(step.name))
      chapter.run(Row{.name = step.name,
                      .tile = step.tile,
                      .needs = step.needs,
                      .launch = [&](float* C) { step.launch(a, b, C, M, N, K); },
                      .check = step.features == ONE_PRODUCT ? check_one : Check()});
  const CublasHandle handle;
  chapter.vendor("cuBLAS", [&](float* C) { row_major_gemm(handle, M, N, K, 1, a, b, 0, C); });

  // The errors, side by side.
  if (!chapter.compares() || exact.value.empty() || K == 0) return;
  DeviceBuffer<float> c(M * N);
  chapter.note("error against double, of " + count_text(static_cast<int64_t>(rows.size())) +
               " rows, as a part of C's root mean square:");
  chapter.note("                   rms      largest");
  const auto note_error = [&](const char* name, const std::function<void()>& launch) {
    chapter.watch("the errors", launch);
    chapter.note(error_line(name, c.to_host(), exact, rows, N));
  };
  const DeviceBuffer<__nv_bfloat16> a_bf16(narrowed<__nv_bfloat16>(A));
  const DeviceBuffer<__nv_bfloat16> b_bf16(narrowed<__nv_bfloat16>(B));
  note_error("bf16, cuBLAS",
             [&] { row_major_gemm(handle, M, N, K, a_bf16.data(), b_bf16.data(), c.data()); });
  const auto note_step = [&](const char* name, Launcher* launch) {
    note_error(name, [&] { launch(a, b, c.data(), M, N, K); });
  };
  note_step("one_product", one_product);
  note_step("three_products", three_products);
  note_step("partial_sums", partial_sums);
  note_step("deep_tiles", deep_tiles);  // the later steps' bits are the same
  note_error("fp32, cuBLAS", [&] { row_major_gemm(handle, M, N, K, 1, a, b, 0, c.data()); });
}

}  // namespace tutorial::tiled_matmul::tf32
