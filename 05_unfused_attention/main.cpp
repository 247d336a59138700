// The program of chapter 05: the stages of attention one by one, and the pipelines made of them.
#include "05_unfused_attention.hpp"
#include "program.hpp"
#include "stage_rows.hpp"

namespace tutorial::unfused_attention {
namespace {

void body(Chapter& chapter) {
  Attention a;
  Input& input_qkv = add_options(chapter, a);
  chapter.steps(steps);
  chapter.parse();
  announce(chapter, a);
  // For the header of step 4, whose kernel part strips launches on parts of the scores.
  chapter.symbols({{"written", a.scores()}, {"launches", 1}});

  Workspace workspace(a);
  Attention nothing = a;
  nothing.B = 0;
  chapter.require_a_step(steps,
                         [&](Launcher* launch) { launch(nothing, nullptr, workspace, nullptr); });

  const std::vector<int64_t> rows = rows_to_check(chapter, a);
  const Expected want = attention_reference(a, input_qkv.host(), rows);
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    return compare_rows(got, want, rows, layout);
  });

  const float* qkv = input_qkv.device();
  StageRows stages(chapter, a, input_qkv, workspace);
  for (const auto& step : steps) {
    if (!chapter.selected(step.name)) continue;
    stages.run_above(step);
    chapter.run(step, [&](float* out) { step.launch(a, qkv, workspace, out); });
  }
}

}  // namespace
}  // namespace tutorial::unfused_attention

int main(int argc, char** argv) {
  using namespace tutorial;
  return run_chapter(
      argc, argv, "05_unfused_attention",
      {{"", "attention as separate kernels, with the scores in memory", unfused_attention::body},
       {"strips", "its causal half only: strips of queries", unfused_attention::strips::body}});
}
