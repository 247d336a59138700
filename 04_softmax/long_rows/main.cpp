// The program of part long_rows: its steps on a matrix of long rows, beside a plain copy of the
// same bytes.
#include "check_and_copy.hpp"
#include "common/program/table.hpp"
#include "long_rows/long_rows.hpp"

using namespace tutorial;
using namespace tutorial::softmax;
using namespace tutorial::softmax::long_rows;

const Usage usage = {.program = "04_softmax/long_rows",
                     .summary = "softmax of rows that the registers of a block do not hold",
                     .after = after,
                     .sizes = {{"--rows", {.gpu = 1024, .cpu = 2}, "rows of x and y"},
                               {"--cols", {.gpu = 65536, .cpu = 40000}, "columns of x and y"}},
                     .inputs = {{"x", {"--rows", "--cols"}, "the matrix"}},
                     .steps = listed(long_rows::steps),
                     .output = "y"};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Softmax problem = {.rows = options.size("--rows"), .cols = options.size("--cols")};
  const int64_t rows = problem.rows, cols = problem.cols;
  Input& input_x = options.input("x");

  Table table(options);
  const double elements = static_cast<double>(rows) * static_cast<double>(cols);
  table.problem("y[" + shape_text({rows, cols}) + "] = softmax of each row of x, fp32",
                {.flop = 5 * elements, .bytes = 8 * elements}, {rows, cols});

  const Wanted want = wanted(input_x.host(), rows, cols, options.seed());
  const float* x = input_x.device();
  for (const auto& step : long_rows::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* y) { return run(problem, x, y, nullptr); };
    if (auto row = table.launch(step, call)) table.add(row, compare(row, want));
  }

  if (options.compares())
    if (auto row = table.launch(plain_copy(x, rows, cols)))
      table.add(row, compare_copy(row, input_x.host()));
  return table.finish();
} catch (...) {
  return exit_status();
}
