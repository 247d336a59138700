// The program of part strips: its steps, beside the road's row_in_registers.
#include <algorithm>
#include <string>

#include "common/kernel/grid.hpp"
#include "common/program/table.hpp"
#include "qkv_problem.hpp"
#include "strips/strips.hpp"

using namespace tutorial;
using namespace tutorial::unfused_attention;
using namespace tutorial::unfused_attention::strips;

const Usage usage = with_qkv(
    {.program = "05_unfused_attention/strips",
     .summary = "its causal half only: strips of queries",
     .after = after,
     .sizes = {{"--strip", {.gpu = 0, .cpu = 25}, "queries of a strip; 0: by each step's rule"}},
     .steps = listed(strips::steps)});

/// Of the pointers of the step that cuts finest: 6 a head and strip.
double pointer_bytes(const Attention& a) {
  double strips = 0;
  for (const auto& step : strips::steps) {
    const Cut cut = cut_of(a, step);
    if (cut.height > 0) strips = std::max(strips, static_cast<double>(ceil_div(a.T, cut.height)));
  }
  return 48 * static_cast<double>(a.heads()) * strips;
}

/// How much of preatt each step uses.
std::string memory_text(const Attention& a) {
  std::string line = "of preatt alone, ";
  for (const auto& step : strips::steps) {
    const Cut cut = cut_of(a, step);
    const double floats = static_cast<double>(scores_of(a, cut, cut.streams));
    line += std::string(step.name) + " uses " + with_prefix(4 * floats, "B") + ", ";
  }
  return line + "row_in_registers all of it";
}

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  Attention a = attention_of(options);
  a.strip_height = options.size("--strip");
  Input& input_qkv = options.input("qkv");

  Table table(options);
  require_a_step(table, strips::steps, a);
  announce(table, a, pointer_bytes(a));
  if (a.elements() > 0) table.say(memory_text(a));

  // What a query is multiplied with depends on the strip that it is in; 0: with all keys.
  const std::vector<int64_t> rows = rows_to_check(a, options.seed());
  const auto check = [&](const Launched& row, int64_t height) {
    const Expected want = attention_reference(a, input_qkv.host(), rows, height);
    return compare_rows(row.output, want, rows, row.layout);
  };

  const float* qkv = input_qkv.device();
  StageWorkspace workspace(a);
  for (const auto& step : strips::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* out) { return run(a, qkv, workspace, out); };
    if (auto row = table.launch(step, call)) table.add(row, check(row, cut_of(a, step).height));
  }
  const auto road = [&](float* out) { row_in_registers(a, qkv, workspace, out); };
  if (auto row = table.launch_vendor("row_in_registers", road)) table.add(row, check(row, 0));
  return table.finish();
} catch (...) {
  return exit_status();
}
