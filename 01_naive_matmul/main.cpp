#include "01_naive_matmul.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"

namespace tutorial::naive_matmul {
namespace {

void body(Chapter& chapter) {
  int64_t M, N, K;
  chapter.size("--m", M, {.gpu = 2048, .cpu = 192}, "rows of A and C");
  chapter.size("--n", N, {.gpu = 2048, .cpu = 160}, "columns of B and C");
  chapter.size("--k", K, {.gpu = 2048, .cpu = 128}, "columns of A, rows of B");
  Input& input_a = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix");
  Input& input_b = chapter.input("b", {{"--k"}, {"--n"}}, "the right matrix");
  chapter.steps(steps);
  chapter.parse();
  chapter.require_a_step(steps, [&](Launcher* launch) {
    launch(nullptr, nullptr, nullptr, M, 0, 0);
    launch(nullptr, nullptr, nullptr, 0, N, 0);
  });
  chapter.symbols({{"M", M}, {"N", N}, {"K", K}});

  const double m = M, n = N, k = K;
  chapter.problem("C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" +
                      shape_text({K, N}) + "], fp32",
                  {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n)}, {M, N});

  // The whole result where the host can afford a reference. Else some rows of it, from all over C,
  // and the other rows by their sums with random signs.
  const bool is_small = m * n * k <= 2e8;
  const std::vector<float>& A = input_a.host();
  const std::vector<float>& B = input_b.host();
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 16, chapter.seed());
  const Expected want = reference(A, B, N, K, rows);
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    const Comparison some = compare_rows(got, want, rows, layout);
    if (!some.ok || is_small) return some;
    const Comparison sums = freivalds(A, B, got, M, N, K, chapter.seed(), layout);
    return sums.ok ? some : sums;
  });

  const float* a = input_a.device();
  const float* b = input_b.device();
  for (const auto& step : steps)
    chapter.run(step, [&](float* C) { step.launch(a, b, C, M, N, K); });
  const CublasHandle handle;
  chapter.vendor("cuBLAS", [&](float* C) { row_major_gemm(handle, M, N, K, 1, a, b, 0, C); });
}

}  // namespace
}  // namespace tutorial::naive_matmul

int main(int argc, char** argv) {
  return tutorial::run_chapter(
      argc, argv, "01_naive_matmul",
      {{"", "C = A·B, one thread for each element of C", tutorial::naive_matmul::body}});
}
