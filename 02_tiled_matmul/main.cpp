// The program of chapter 02: every step on the same matrices, beside cuBLAS and the best step of
// part any_shape.
#include "02_tiled_matmul.hpp"
#include "any_shape/any_shape.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul;

const Usage usage = {
    .program = "02_tiled_matmul",
    .summary = "C = A·B in tiles: shared memory, then registers",
    .sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
              {"--n", {.gpu = 4096, .cpu = 200}, "columns of B and C"},
              {"--k", {.gpu = 4096, .cpu = 160}, "columns of A, rows of B"}},
    .inputs = {{"a", {"--m", "--k"}, "the left matrix"}, {"b", {"--k", "--n"}, "the right matrix"}},
    .steps = listed(steps)};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const int64_t M = options.size("--m"), N = options.size("--n"), K = options.size("--k");
  Input &input_a = options.input("a"), &input_b = options.input("b");

  Table table(options);
  const double m = M, n = N, k = K;
  const int64_t bytes =  // of the goal, below
      options.compares() ? any_shape::workspace_bytes({M, N, K}, /*B=*/nullptr) : 0;
  table.problem("C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" +
                    shape_text({K, N}) + "], fp32",
                {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n)}, {M, N}, bytes);

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

  // `run` is the step's launcher, or what it asks for, which has the same parameters. There is no
  // row where the step is not selected or fails; add() times a row that is right.
  const float *a = input_a.device(), *b = input_b.device();
  for (const auto& step : steps)
    if (auto row = table.launch(step, [&](auto run, float* C) { return run(a, b, C, M, N, K); }))
      table.add(row, check(row));
  DeviceBuffer<std::byte> memory(bytes);
  const auto goal = [&](float* C) {
    any_shape::few_rows({M, N, K}, a, b, C, workspace_in(memory), /*stream=*/nullptr);
  };
  if (auto row = table.launch_goal("any_shape/few_rows", goal)) table.add(row, check(row));
  const CublasHandle handle;
  const auto cublas = [&](float* C) { row_major_gemm(handle, M, N, K, 1, a, b, 0, C); };
  if (auto row = table.launch_vendor("cuBLAS", cublas)) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
