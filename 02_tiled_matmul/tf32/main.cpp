// The program of part tf32: float32 matrices on tensor cores, and how exact each way to multiply
// is.
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "tf32/errors.hpp"
#include "tf32/tf32.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::tf32;

const Usage usage = {
    .program = "02_tiled_matmul/tf32",
    .summary = "float32 matrices on tensor cores: one and three products of TF32 numbers",
    .after = after,
    .sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
              {"--n", {.gpu = 4096, .cpu = 200}, "columns of B and C"},
              {"--k", {.gpu = 4096, .cpu = 160}, "columns of A, rows of B"}},
    .inputs = {{"a", {"--m", "--k"}, "the left matrix"}, {"b", {"--k", "--n"}, "the right matrix"}},
    .steps = listed(steps)};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const int64_t M = options.size("--m"), N = options.size("--n"), K = options.size("--k");
  const Tf32Product product = {.M = M, .N = N, .K = K};
  Input &input_a = options.input("a"), &input_b = options.input("b");

  Table table(options);
  table.require_a_step(steps,
                       [](Launcher* launch) { launch({}, nullptr, nullptr, nullptr, nullptr); });
  const double m = M, n = N, k = K;
  table.problem(
      "C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" + shape_text({K, N}) +
          "], fp32 as one or three products of TF32",
      {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n), .arithmetic = Arithmetic::tf32},
      {M, N});

  // The whole result where the host can afford a reference, else 16 rows and the sums of the
  // others. One product is compared with that of the rounded matrices.
  const std::vector<float>&A = input_a.host(), &B = input_b.host();
  const std::vector<float> A_rounded = rounded_to_tf32(A), B_rounded = rounded_to_tf32(B);
  const bool is_small = m * n * k <= affordable(1e8);
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 16, options.seed());
  const Expected exact = reference(A, B, N, K, rows, THREE_PRODUCTS);
  const Expected of_rounded = reference(A_rounded, B_rounded, N, K, rows, ONE_PRODUCT);
  const auto check = [&](const Launched& row, unsigned products) {
    const bool one = products == ONE_PRODUCT;
    const Comparison some = compare_rows(row.output, one ? of_rounded : exact, rows, row.layout);
    if (!some.ok || is_small) return some;
    const Comparison sums =
        freivalds(one ? A_rounded : A, one ? B_rounded : B, row.output, M, N, K, options.seed(),
                  row.layout, relative_bound(K, products) / gamma_bound(K));
    return sums.ok ? some : sums;
  };

  const float *a = input_a.device(), *b = input_b.device();
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* C) { return run(product, a, b, C, nullptr); };
    if (auto row = table.launch(step, call)) table.add(row, check(row, step.features));
  }
  const CublasHandle handle;
  const auto cublas = [&](float* C) { row_major_gemm(handle, M, N, K, 1, a, b, 0, C); };
  if (auto row = table.launch_vendor("cuBLAS", cublas)) table.add(row, check(row, THREE_PRODUCTS));
  if (options.compares() && !exact.value.empty() && K > 0)
    note_errors(table, input_a, input_b, product, exact, rows);
  return table.finish();
} catch (...) {
  return exit_status();
}
