// The program of part fp8: float32 matrices, rounded to 8 bits with a scale for all, for rows and
// for blocks, and how far each product is from that in float32.
#include <map>
#include <memory>
#include <optional>

#include "common/program/table.hpp"
#include "fp8/errors.hpp"
#include "fp8/operands.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::fp8;

const Usage usage = {
    .program = "02_tiled_matmul/fp8",
    .summary = "C = A·Bᵀ from numbers of 8 bits on compute capability 9.0: scales, and exact sums",
    .after = after,
    .sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
              {"--n", {.gpu = 4096, .cpu = 200}, "rows of B, columns of C"},
              {"--k", {.gpu = 4096, .cpu = 320}, "columns of A and B"},
              {"--outliers",
               {.gpu = 1, .cpu = 1},
               "a number in each 16th row of A is so many times as large"}},
    .inputs = {{"a", {"--m", "--k"}, "the left matrix"},
               {"b", {"--n", "--k"}, "the right matrix, transposed"}},
    .steps = listed(steps)};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Fp8Product product = {
      .M = options.size("--m"), .N = options.size("--n"), .K = options.size("--k")};
  const auto [M, N, K] = product;
  std::vector<float> A = options.input("a").host();
  const std::vector<float>& B = options.input("b").host();
  for (int64_t m = 0; m < M && K > 0; m += 16)
    A[m * K + m * 37 % K] *= static_cast<float>(options.size("--outliers"));

  Table table(options);
  table.require_a_step(
      steps, [](Launcher* launch) { launch({}, nullptr, nullptr, {}, nullptr, {}, nullptr); });
  const double m = M, n = N, k = K;
  table.problem(
      "C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" + shape_text({N, K}) +
          "]ᵀ, e4m3 in, bf16 out",
      {.flop = 2 * m * n * k, .bytes = m * k + k * n + 2 * m * n, .arithmetic = Arithmetic::fp8},
      {M, N}, 4 * (m * k + k * n));
  table.say("A and B are divided by their scales and rounded to e4m3; sums are fp32, C is bf16");

  const DeviceBuffer<float> a(A), b(B);
  std::map<Scaling, std::unique_ptr<Operands>> operands;  // each made once
  const auto operands_of = [&](const Step<Launcher>& step) -> const Operands& {
    auto& made = operands[scaling_of(step)];
    if (!made) made = std::make_unique<Operands>(a.data(), b.data(), product, scaling_of(step));
    return *made;
  };
  DeviceBuffer<std::byte> memory(workspace_bytes(product, nullptr, nullptr));
  const Workspace workspace = workspace_in(memory);
  const bool is_small = m * n * k <= affordable(1e8);
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 64, options.seed());
  std::optional<Errors> errors;
  if (options.compares() && M * N * K > 0) errors.emplace(A, B, product, rows);
  for (const auto& step : steps) {
    const Operands& of = operands_of(step);
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* C) {
      return run(product, of.A.values.data(), of.B.values.data(), of.scales(), C, workspace,
                 nullptr);
    };
    if (auto row = table.launch_bf16(step, call)) {
      const Expected want = reference(of.A.to_host(), of.B.to_host(), product, rows, step.features);
      if (errors) errors->add(step.name, row.output, want.value);
      table.add(row, compare_rows(row.output, want, rows, row.layout));
    }
  }
  if (errors) errors->note(table);
  return table.finish();
} catch (...) {
  return exit_status();
}
