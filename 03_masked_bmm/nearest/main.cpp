// The program of part nearest: each step that can do the search, beside cuBLAS and a kernel for the
// minimum where there is one.
#include <algorithm>
#include <string>

#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "nearest/nearest.hpp"

using namespace tutorial;
using namespace tutorial::masked_bmm::nearest;

const Usage usage = {
    .program = "03_masked_bmm/nearest",
    .summary = "the nearest of many points, or each row's minimum",
    .after = after,
    .sizes = {{"--m", {.gpu = 16384, .cpu = 200}, "rows of A: queries"},
              {"--n", {.gpu = 16384, .cpu = 600}, "rows of B: points"},
              {"--d", {.gpu = 64, .cpu = 24}, "columns of A and B"},
              {"--neighbours", {.gpu = 1, .cpu = 1}, "how many points for each query"}},
    .flags = {{"--product", false, "the smallest products, not the smallest distances"}},
    .inputs = {{"a", {"--m", "--d"}, "the queries"}, {"b", {"--n", "--d"}, "the points"}},
    .steps = listed(steps),
    .output = "out"};

/// Those that can do the search run. Where the user names steps, all of these: one that cannot then
/// says so.
static std::vector<Step<Launcher>> steps_for(const Options& options, const Search& search) {
  std::vector<Step<Launcher>> chosen, able;
  for (const auto& step : steps) {
    if (options.selected(step.name)) chosen.push_back(step);
    if (can_do(step, search)) able.push_back(step);
  }
  return chosen.size() < steps.size() ? chosen : able;
}

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const bool by_product = options.flag("--product");
  const Search s = {.M = options.size("--m"),
                    .N = options.size("--n"),
                    .D = options.size("--d"),
                    .k = options.size("--neighbours"),
                    .measure = by_product ? Measure::product : Measure::distance};
  require_possible(s);
  if (s.D == 0)
    throw Error("--d is 0, and points without coordinates are all equally near; give 1 or more");
  const std::vector<Step<Launcher>> run = steps_for(options, s);

  Table table(options);
  Search nothing = s;
  nothing.M = 0;
  table.require_a_step(run, [&](Launcher* launch) {
    launch(nothing, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  });

  const bool with_cublas = by_product && s.k == 1;  // whose product the workspace has room for, too
  int64_t bytes = with_cublas ? Workspace::bytes_of<float>(s.M * s.N) : 0;
  for (const auto& step : run) bytes = std::max(bytes, workspace_bytes(s, step.launch));
  table.problem("out[" + shape_text({s.M, s.k}) + "] = the " + std::to_string(s.k) +
                    " nearest of B[" + shape_text({s.N, s.D}) + "] for each of A[" +
                    shape_text({s.M, s.D}) + "], by " + (by_product ? "a·b" : "|a - b|") + ", fp32",
                {.flop = 2.0 * s.M * s.N * s.D, .bytes = 4.0 * (s.M + s.N) * s.D + 8.0 * s.M * s.k},
                {s.M, s.k}, bytes + 4.0 * s.M * s.k);
  Input &input_a = options.input("a"), &input_b = options.input("b");
  const float *a = input_a.device(), *b = input_b.device();
  DeviceBuffer<float> values(s.M * s.k);
  DeviceBuffer<std::byte> memory(bytes);
  Workspace workspace = workspace_in(memory);

  const std::vector<int64_t> rows =
      sample_rows(s.M, static_cast<int64_t>(affordable(1e8) / std::max(1.0, 1.0 * s.N * s.D)) + 1,
                  options.seed());
  const auto check = [&](Launched& row, unsigned features) {
    const std::vector<float>&A = input_a.host(), &B = input_b.host(), of_points = row.fetch(values);
    const Comparison points =
        compare_rows(row.output, reference(s, A, B, rows, row.output, (features & ROUNDED) != 0),
                     rows, row.layout);
    if (!points.ok) return points;
    const Comparison sums =
        compare_rows(of_points, values_reference(s, A, B, rows, row.output), rows,
                     {.name = "values", .rows = s.M, .cols = s.k, .tile = row.layout.tile});
    return sums.ok ? points : sums;
  };
  const auto poison = [&](float*) { values.poison(); };

  for (const auto& step : run) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* out) {
      return run(s, a, b, out, values.data(), workspace, nullptr);
    };
    if (auto row = table.launch(step, call, poison)) table.add(row, check(row, step.features));
  }
  if (!with_cublas) return table.finish();
  const CublasHandle handle;
  float* const c = workspace.take<float>(s.M * s.N);
  const auto cublas_and_minimum = [&](float* out) {
    row_major_gemm(handle, s.M, s.N, s.D, 1.0f, a, b, 0.0f, c, Transpose::b);
    row_minimum(s, c, s.N, out, values.data(), nullptr);
  };
  if (auto row = table.launch_vendor("cuBLAS + minimum", cublas_and_minimum, poison))
    table.add(row, check(row, PRODUCT));
  if (!device_has_clock() && options.compares())
    table.note("of cuBLAS + minimum only the minimum is counted");
  return table.finish();
} catch (...) {
  return exit_status();
}
