// The program of chapter 04: every step on one matrix, beside a plain copy of the same bytes.
#include "04_softmax.hpp"
#include "check_and_copy.hpp"
#include "common/program/table.hpp"
#include "long_rows/long_rows.hpp"

using namespace tutorial;
using namespace tutorial::softmax;

const Usage usage = {.program = "04_softmax",
                     .summary = "softmax of every row of a matrix",
                     .sizes = {{"--rows", {.gpu = 16384, .cpu = 64}, "rows of x and y"},
                               {"--cols", {.gpu = 8192, .cpu = 1000}, "columns of x and y"}},
                     .inputs = {{"x", {"--rows", "--cols"}, "the matrix"}},
                     .steps = listed(steps),
                     .output = "y"};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const int64_t rows = options.size("--rows"), cols = options.size("--cols");
  Input& input_x = options.input("x");

  Table table(options);
  const double elements = static_cast<double>(rows) * static_cast<double>(cols);
  table.problem("y[" + shape_text({rows, cols}) + "] = softmax of each row of x, fp32",
                {.flop = 5 * elements, .bytes = 8 * elements}, {rows, cols});

  const Wanted want = wanted(input_x.host(), rows, cols, options.seed());
  const float* x = input_x.device();
  // `run`: the step's launcher, or its `asked`, which has the same parameters.
  for (const auto& step : steps)
    if (auto row = table.launch(step, [&](auto run, float* y) { return run(x, y, rows, cols); }))
      table.add(row, compare(row, want));

  const auto goal = [&](float* y) { long_rows::any_row({rows, cols}, x, y, nullptr); };
  if (auto row = table.launch_goal("long_rows/any_row", goal)) table.add(row, compare(row, want));
  if (options.compares())
    if (auto row = table.launch(plain_copy(x, rows, cols)))
      table.add(row, compare_copy(row, input_x.host()));
  return table.finish();
} catch (...) {
  return exit_status();
}
