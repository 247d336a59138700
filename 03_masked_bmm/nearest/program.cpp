// The program of part nearest: `./learn run 03 --part nearest`.
#include <algorithm>
#include <string>

#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/chapter.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

/// Of the steps that run those that can do the search. Where the user names steps, all of these:
/// one that cannot then says so.
std::vector<Step<Launcher>> steps_for(const Chapter& chapter, const Search& search) {
  std::vector<Step<Launcher>> chosen, able;
  for (const auto& step : steps) {
    if (chapter.selected(step.name)) chosen.push_back(step);
    if (can_do(step, search)) able.push_back(step);
  }
  return chosen.size() < steps.size() ? chosen : able;
}

}  // namespace

void body(Chapter& chapter) {
  Search s;
  bool by_product = false;
  chapter.size("--m", s.M, {.gpu = 16384, .cpu = 200}, "rows of A: queries");
  chapter.size("--n", s.N, {.gpu = 16384, .cpu = 600}, "rows of B: points");
  chapter.size("--d", s.D, {.gpu = 64, .cpu = 24}, "columns of A and B");
  chapter.size("--neighbours", s.k, {.gpu = 1, .cpu = 1}, "how many points for each query");
  chapter.flag("--product", by_product, "the smallest products, not the smallest distances");
  Input& input_a = chapter.input("a", {{"--m"}, {"--d"}}, "the queries");
  Input& input_b = chapter.input("b", {{"--n"}, {"--d"}}, "the points");
  chapter.steps(steps);
  chapter.output_name("out");
  chapter.parse();
  if (by_product) s.measure = Measure::product;
  require_possible(s);
  const std::vector<Step<Launcher>> run = steps_for(chapter, s);
  Search nothing = s;
  nothing.M = 0;
  {
    Workspace none(nothing);
    chapter.require_a_step(
        run, [&](Launcher* launch) { launch(nothing, nullptr, nullptr, none, nullptr); });
  }

  const bool with_product = by_product && s.k == 1;  // step 1, and cuBLAS
  chapter.symbols({{"doubtful", s.M}});              // at most
  chapter.problem(
      "out[" + shape_text({s.M, s.k}) + "] = the " + std::to_string(s.k) + " nearest of B[" +
          shape_text({s.N, s.D}) + "] for each of A[" + shape_text({s.M, s.D}) + "], by " +
          (by_product ? "a·b" : "|a - b|") + ", fp32",
      {.flop = 2.0 * s.M * s.N * s.D, .bytes = 4.0 * (s.M + s.N) * s.D + 4.0 * s.M * s.k},
      {s.M, s.k}, Workspace::bytes(s, with_product));
  const float *a = input_a.device(), *b = input_b.device();
  Workspace workspace(s, with_product);

  const std::vector<int64_t> rows = sample_rows(
      s.M, static_cast<int64_t>(1e8 / std::max(1.0, 1.0 * s.N * s.D)) + 1, chapter.seed());
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    return compare_rows(got, reference(s, input_a.host(), input_b.host(), rows, got), rows, layout);
  });
  for (const auto& step : run) {
    chapter.symbols(symbols_of(s, step));
    chapter.run(step, [&](float* out) { step.launch(s, a, b, workspace, out); });
  }
  if (!with_product) return;
  const CublasHandle handle;
  chapter.vendor("cuBLAS + minimum", [&](float* out) {
    float* const c = workspace.product.data();
    row_major_gemm(handle, s.M, s.N, s.D, 1.0f, a, b, 0.0f, c, Transpose::b);
    row_minimum(s, c, s.N, workspace, out);
  });
  if (!device_has_clock() && chapter.compares())
    chapter.note("of cuBLAS + minimum only the minimum is counted");
}

}  // namespace tutorial::masked_bmm::nearest
