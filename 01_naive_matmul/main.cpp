// The program of chapter 01: both steps on the same matrices, beside cuBLAS.
#include "01_naive_matmul.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"

using namespace tutorial;
using namespace tutorial::naive_matmul;

const Usage usage = {
    .program = "01_naive_matmul",
    .summary = "C = A·B, one thread for each element of C",
    .sizes = {{"--m", {.gpu = 2048, .cpu = 192}, "rows of A and C"},
              {"--n", {.gpu = 2048, .cpu = 160}, "columns of B and C"},
              {"--k", {.gpu = 2048, .cpu = 128}, "columns of A, rows of B"}},
    .inputs = {{"a", {"--m", "--k"}, "the left matrix"}, {"b", {"--k", "--n"}, "the right matrix"}},
    .steps = listed(steps)};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const int64_t M = options.size("--m"), N = options.size("--n"), K = options.size("--k");
  Input &input_a = options.input("a"), &input_b = options.input("b");

  Table table(options);
  table.require_a_step(steps, [&](Launcher* launch) {
    launch(nullptr, nullptr, nullptr, M, 0, 0);
    launch(nullptr, nullptr, nullptr, 0, N, 0);
  });
  const double m = M, n = N, k = K;
  table.problem("C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" +
                    shape_text({K, N}) + "], fp32",
                {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n)}, {M, N});

  // The whole result where the host can afford a reference. Else some rows of it, from all over C,
  // and the other rows by their sums with random signs.
  const bool is_small = m * n * k <= affordable(2e8);
  const std::vector<float>&A = input_a.host(), &B = input_b.host();
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 16, options.seed());
  const Expected want = reference(A, B, N, K, rows);
  const auto check = [&](const Launched& row) {
    const Comparison some = compare_rows(row.output, want, rows, row.layout);
    if (!some.ok || is_small) return some;
    const Comparison sums = freivalds(A, B, row.output, M, N, K, options.seed(), row.layout);
    return sums.ok ? some : sums;
  };

  const float *a = input_a.device(), *b = input_b.device();
  // `run`: the step's launcher, or its `asked`, which has the same parameters.
  for (const auto& step : steps)
    if (auto row = table.launch(step, [&](auto run, float* C) { return run(a, b, C, M, N, K); }))
      table.add(row, check(row));
  const CublasHandle handle;
  const auto cublas = [&](float* C) { row_major_gemm(handle, M, N, K, 1, a, b, 0, C); };
  if (auto row = table.launch_vendor("cuBLAS", cublas)) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
