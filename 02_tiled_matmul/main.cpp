// The program of chapter 02.
#include <cmath>
#include <limits>
#include <sstream>

#include "02_tiled_matmul.hpp"
#include "common/data/npy.hpp"
#include "common/kernel/check.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/tensor_cores.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul {
namespace {

float as_float(const char* option, double value) {
  if (std::abs(value) > std::numeric_limits<float>::max())
    throw Error(std::string(option) + " does not fit into float32; give a smaller number");
  return static_cast<float>(value);
}

/// "C[4096×4096] = 2 · A[4096×4096] · B[4096×4096] + 3 · C, fp32"
std::string formula(int64_t M, int64_t N, int64_t K, float alpha, float beta) {
  const bool is_plain = alpha == 1 && beta == 0;
  std::ostringstream line;
  line << "C[" << shape_text({M, N}) << "] = ";
  if (!is_plain) line << alpha << " · ";
  line << "A[" << shape_text({M, K}) << "] · B[" << shape_text({K, N}) << "]";
  if (!is_plain) line << " + " << beta << " · C";
  line << ", fp32";
  return line.str();
}

void body(Chapter& chapter) {
  int64_t M, N, K;
  double alpha_option = 1, beta_option = 0;
  chapter.size("--m", M, {.gpu = 4096, .cpu = 256}, "rows of A and C");
  chapter.size("--n", N, {.gpu = 4096, .cpu = 200}, "columns of B and C");
  chapter.size("--k", K, {.gpu = 4096, .cpu = 160}, "columns of A, rows of B");
  chapter.number("--alpha", alpha_option, "C = alpha·A·B + beta·C (not all steps can)");
  chapter.number("--beta", beta_option, "0: what C holds before does not matter");
  Input& input_a = chapter.input("a", {{"--m"}, {"--k"}}, "the left matrix");
  Input& input_b = chapter.input("b", {{"--k"}, {"--n"}}, "the right matrix");
  Input& input_c = chapter.input("c", {{"--m"}, {"--n"}}, "what C holds before, for --beta");
  chapter.steps(steps);
  chapter.parse();
  chapter.symbols({{"M", M}, {"N", N}, {"K", K}});
  const float alpha = as_float("--alpha", alpha_option), beta = as_float("--beta", beta_option);
  chapter.require_a_step(
      steps, [&](Launcher* launch) { launch(nullptr, nullptr, nullptr, 0, 0, 0, alpha, beta); });

  const double m = M, n = N, k = K, accesses_to_C = beta == 0 ? 1 : 2;
  chapter.problem(formula(M, N, K, alpha, beta),
                  {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + accesses_to_C * m * n)},
                  {M, N});

  // The whole result where the host can afford a reference. Else some rows of it, from all over C,
  // and a plain product's other rows by their sums with random signs.
  const bool is_plain = alpha == 1 && beta == 0, is_small = m * n * k <= 2e8;
  const std::vector<float>& A = input_a.host();
  const std::vector<float>& B = input_b.host();
  const std::vector<float> before = beta == 0 ? std::vector<float>() : input_c.host();
  const int64_t count = is_small ? M : is_plain ? 16 : 64;
  const std::vector<int64_t> rows = sample_rows(M, count, chapter.seed());
  const Expected want = reference(A, B, N, K, rows, alpha, beta, before);
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    const Comparison some = compare_rows(got, want, rows, layout);
    if (!some.ok || is_small || !is_plain) return some;
    const Comparison sums = freivalds(A, B, got, M, N, K, chapter.seed(), layout);
    return sums.ok ? some : sums;
  });

  const float* a = input_a.device();
  const float* b = input_b.device();
  const float* c = beta == 0 ? nullptr : input_c.device();
  const auto restore = [&](float* C) {
    if (c != nullptr) CUDA_CHECK(cudaMemcpy(C, c, M * N * sizeof(float), cudaMemcpyDeviceToDevice));
  };
  for (const auto& step : steps) {
    chapter.symbols(symbols_of(step.launch, b, M, N, K));
    chapter.run(
        step, [&](float* C) { step.launch(a, b, C, M, N, K, alpha, beta); }, restore);
  }
  const CublasHandle handle;
  chapter.vendor(
      "cuBLAS", [&](float* C) { row_major_gemm(handle, M, N, K, alpha, a, b, beta, C); }, restore);
}

}  // namespace
}  // namespace tutorial::tiled_matmul

int main(int argc, char** argv) {
  return tutorial::run_chapter(
      argc, argv, "02_tiled_matmul",
      {{"", "C = alpha·A·B + beta·C in tiles: shared memory, then registers",
        tutorial::tiled_matmul::body},
       {"tensor_cores", "C = A·B on tensor cores: bf16 in, fp32 added up, fp32 or bf16 out",
        tutorial::tiled_matmul::tensor_cores::body},
       {"hopper", "the same on compute capability 9.0: TMA, wgmma, clusters",
        tutorial::tiled_matmul::hopper::body},
       {"tf32", "float32 matrices on tensor cores: one and three products of TF32 numbers",
        tutorial::tiled_matmul::tf32::body}});
}
