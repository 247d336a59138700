// The program of part fp16: every step on the same matrices of fp16, beside cuBLAS.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "fp16/rounding.hpp"
#include "tensor_cores/tensor_cores.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::fp16;
using tutorial::tiled_matmul::tensor_cores::reference;

const Usage usage = {.program = "02_tiled_matmul/fp16",
                     .summary = "C = A·B on tensor cores: fp16 in, fp32 added up, fp32 or fp16 out",
                     .after = after,
                     .sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
                               {"--n", {.gpu = 4096, .cpu = 200}, "columns of B and C"},
                               {"--k", {.gpu = 4096, .cpu = 160}, "columns of A, rows of B"}},
                     .flags = {{"--fp16-out", false, "C in fp16, too; else it is fp32"}},
                     .inputs = {{"a", {"--m", "--k"}, "the left matrix, rounded to fp16"},
                                {"b", {"--k", "--n"}, "the right matrix, rounded to fp16"}},
                     .steps = listed(steps)};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const int64_t M = options.size("--m"), N = options.size("--n"), K = options.size("--k");
  const HalfProduct product = {.M = M, .N = N, .K = K};
  const bool is_c_half = options.flag("--fp16-out");

  Table table(options);
  table.require_a_step(
      steps, [](Launcher* launch) { launch({}, nullptr, nullptr, HalfOutput(), {}, nullptr); });
  const double m = M, n = N, k = K;
  table.problem("C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" +
                    shape_text({K, N}) + "], fp16 in, " + (is_c_half ? "fp16" : "fp32") + " out",
                {.flop = 2 * m * n * k,
                 .bytes = 2 * (m * k + k * n) + (is_c_half ? 2 : 4) * m * n,
                 .arithmetic = Arithmetic::fp16},
                {M, N}, 2 * (m * k + k * n));
  table.say("A and B are rounded to fp16, to nearest even, and added up in fp32" +
            std::string(is_c_half ? "; C is rounded to fp16" : ""));
  const std::vector<float>&A = options.input("a").host(), &B = options.input("b").host();
  const std::vector<__half> half_a = narrowed<__half>(A), half_b = narrowed<__half>(B);
  const DeviceBuffer<__half> a(half_a), b(half_b);

  // The whole result where the host can afford a reference. Else some rows of it and, if C is fp32,
  // the others by their sums.
  const std::vector<float> A_rounded = widened<__half>(half_a), B_rounded = widened<__half>(half_b);
  const bool is_small = m * n * k <= affordable(2e8), rows_alone = is_small || is_c_half;
  const std::vector<int64_t> rows = sample_rows(M,
                                                is_small    ? M
                                                : is_c_half ? 64
                                                            : 16,
                                                options.seed());
  Expected want = reference(A_rounded, B_rounded, N, K, rows);
  if (is_c_half) want = in_fp16(std::move(want));
  const auto check = [&](const Launched& row) {
    const Comparison some = compare_rows(row.output, want, rows, row.layout);
    if (!some.ok || rows_alone) return some;
    const Comparison sums = freivalds(A_rounded, B_rounded, row.output, M, N, K, options.seed(),
                                      row.layout, gamma_bound(3 * K + 4) / gamma_bound(K + 1));
    return sums.ok ? some : sums;
  };

  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto multiply = [&](auto run, auto* C) {
      return run(product, a.data(), b.data(), HalfOutput(C), {}, nullptr);
    };
    if (auto row = is_c_half ? table.launch_fp16(step, multiply) : table.launch(step, multiply))
      table.add(row, check(row));
  }
  const CublasHandle handle;
  const auto cublas = [&](auto* C) { row_major_gemm(handle, M, N, K, a.data(), b.data(), C); };
  Row vendor = {.name = "cuBLAS"};
  if (is_c_half)
    vendor.launch_fp16 = cublas;
  else
    vendor.launch = cublas;
  if (auto row = table.launch_vendor(vendor)) table.add(row, check(row));
  if (const std::string line = rounding_line(A, B, product); !line.empty()) table.note(line);
  return table.finish();
} catch (...) {
  return exit_status();
}
