// The program of chapter 05: the stages of attention one by one, and the pipelines made of them.
#include "05_unfused_attention.hpp"
#include "common/program/table.hpp"
#include "qkv_problem.hpp"
#include "stages.hpp"
#include "strips/strips.hpp"

using namespace tutorial;
using namespace tutorial::unfused_attention;

// --batch, --seq, --channels, --heads and the input qkv: with_qkv() adds what all programs of this
// chapter take.
const Usage usage = with_qkv({.program = "05_unfused_attention",
                              .summary = "attention as separate kernels, with the scores in memory",
                              .steps = listed(steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention a = attention_of(options);
  Input& input_qkv = options.input("qkv");

  Table table(options);
  require_a_step(table, steps, a);
  announce(table, a);

  const std::vector<int64_t> rows = rows_to_check(a, options.seed());
  const Expected want = attention_reference(a, input_qkv.host(), rows);

  const float* qkv = input_qkv.device();
  StageWorkspace workspace(a);
  for (const auto& step : steps) {
    if (!options.selected(step.name)) continue;
    for (const Stage& stage : stages_above(step, a, input_qkv, workspace, options.seed())) {
      stage.prepare();
      if (auto row = table.launch(stage.row)) table.add(row, stage.check(row));
    }
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* out) { return run(a, qkv, workspace, out); };
    if (auto row = table.launch(step, call))
      table.add(row, compare_rows(row.output, want, rows, row.layout));
  }

  // An infinite or NaN v reaches fewer queries there.
  const auto goal = [&](float* out) { strips::overlapped_strips(a, qkv, workspace, out); };
  const int64_t height = strips::cut_of(a, strips::MOST_STREAMS).height;
  if (auto row = table.launch_goal("strips/overlapped_strips", goal))
    table.add(row, compare_rows(row.output, attention_reference(a, input_qkv.host(), rows, height),
                                rows, row.layout));
  return table.finish();
} catch (...) {
  return exit_status();
}
