// The program of chapter 04: every step on one matrix, beside a plain copy of the same bytes.
#include <algorithm>
#include <cstring>

#include "04_softmax.hpp"
#include "common/kernel/check.hpp"
#include "common/program/chapter.hpp"

namespace tutorial::softmax {
namespace {

void body(Chapter& chapter) {
  int64_t rows, cols;
  chapter.size("--rows", rows, {.gpu = 16384, .cpu = 64}, "rows of x and y");
  chapter.size("--cols", cols, {.gpu = 8192, .cpu = 1000}, "columns of x and y");
  Input& input_x = chapter.input("x", {{"--rows"}, {"--cols"}}, "the matrix");
  chapter.steps(steps);
  chapter.parse();
  chapter.symbols({{"rows", rows}, {"cols", cols}});

  const double elements = static_cast<double>(rows) * static_cast<double>(cols);
  chapter.output_name("y");
  chapter.problem("y[" + shape_text({rows, cols}) + "] = softmax of each row of x, fp32",
                  {.flop = 5 * elements, .bytes = 8 * elements}, {rows, cols});

  // Every element where the host can afford it; else every element of some rows, and the sum of
  // every row, which a NaN spoils as well.
  const std::vector<float>& x = input_x.host();
  const int64_t affordable = (int64_t{1} << 23) / std::max<int64_t>(cols, 1) + 2;
  const std::vector<int64_t> some = sample_rows(rows, std::min(rows, affordable), chapter.seed());
  const Expected want = reference(x, cols, some);
  const Expected sums = expected_row_sums(x, cols);
  chapter.check_with([&](std::span<const float> y, const Layout& layout) {
    const Comparison elements = compare_rows(y, want, some, layout);
    if (!elements.ok) return elements;
    const Comparison of_sums =
        compare(row_sums(y, cols), sums, {.name = "row sum", .rows = rows, .cols = 1});
    return of_sums.ok ? elements : of_sums;
  });

  const float* device_x = input_x.device();
  for (const auto& step : steps)
    chapter.run(step, [&](float* y) { step.launch(device_x, y, rows, cols); });

  // No library has this softmax as one call. What stands beside the steps is a copy: the same bytes
  // and no arithmetic. It is checked as a copy.
  const auto copy = [&](float* y) {
    CUDA_CHECK(cudaMemcpyAsync(y, device_x, x.size() * sizeof(float), cudaMemcpyDeviceToDevice));
  };
  const auto is_copy = [&](std::span<const float> y, const Layout&) {
    Comparison result;
    result.ok = std::memcmp(y.data(), x.data(), y.size_bytes()) == 0;
    if (!result.ok) result.report = "  the copy differs from x";
    return result;
  };
  if (!chapter.compares()) return;
  chapter.run({.name = "plain copy of x",
               .launch = copy,
               .check = is_copy,
               .cost = {.flop = 0, .bytes = 8 * elements},
               .is_stage = true});
}

}  // namespace
}  // namespace tutorial::softmax

int main(int argc, char** argv) {
  return tutorial::run_chapter(argc, argv, "04_softmax",
                               {{"", "softmax of every row of a matrix", tutorial::softmax::body}});
}
