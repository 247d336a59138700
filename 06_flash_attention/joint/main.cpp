// The program of part joint: two products one after the other and as one, and what their kernels
// count beside the article's formulas.
#include <algorithm>

#include "common/program/table.hpp"
#include "joint/joint.hpp"
#include "joint/say_counts.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention::joint;

const Usage usage = {.program = "06_flash_attention/joint",
                     .summary = "two products as one, attention without the softmax",
                     .after = after,
                     .sizes = {{"--m", {.gpu = 1024, .cpu = 160}, "rows of A and y"},
                               {"--n", {.gpu = 1024, .cpu = 160}, "columns of B, rows of C"},
                               {"--k", {.gpu = 64, .cpu = 32}, "columns of A, C and y, rows of B"}},
                     .inputs = {{"a", {"--m", "--k"}, "the left matrix: queries"},
                                {"b", {"--k", "--n"}, "the middle one: keys, transposed"},
                                {"c", {"--n", "--k"}, "the right one: values"}},
                     .steps = listed(steps),
                     .output = "y"};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const int64_t m = options.size("--m"), n = options.size("--n"), k = options.size("--k");
  Input &A = options.input("a"), &B = options.input("b"), &C = options.input("c");

  Table table(options);
  const double products = static_cast<double>(m) * n * k;
  table.problem("y[" + shape_text({m, k}) + "] = (A[" + shape_text({m, k}) + "] · B[" +
                    shape_text({k, n}) + "]) · C[" + shape_text({n, k}) + "], fp32",
                {.flop = 4 * products, .bytes = 8.0 * (m + n) * k}, {m, k},
                4.0 * m * n + 4.0 * m * k);
  const float *a = A.device(), *b = B.device(), *c = C.device();
  if (products > 0) say_counts(table, a, b, c, m, n, k);

  // The whole result where the host can afford a reference, else some rows of it.
  const std::vector<int64_t> rows = sample_rows(
      m, static_cast<int64_t>(affordable(1e8) / std::max(1.0, 1.0 * n * k)) + 1, options.seed());
  const Expected want = reference(A.host(), B.host(), C.host(), n, k, rows);
  DeviceBuffer<float> y_tilde(m * n);
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* y) { return run(a, b, c, y, y_tilde.data(), m, n, k); };
    if (auto row = table.launch(step, call))
      table.add(row, compare_rows(row.output, want, rows, row.layout));
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
