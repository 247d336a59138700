// The program of part strips: `./learn run 05 --part strips`.
#include "program.hpp"

#include <algorithm>
#include <string>

#include "common/kernel/grid.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {
namespace {

/// Of the pointers of the step that cuts finest: 6 a head and strip.
double pointer_bytes(const Attention& a) {
  double strips = 0;
  for (const auto& step : steps) {
    const Cut cut = cut_of(a, step);
    if (cut.height > 0) strips = std::max(strips, static_cast<double>(ceil_div(a.T, cut.height)));
  }
  return 48 * static_cast<double>(a.heads()) * strips;
}

/// How much of preatt each step uses.
void say_memory(Chapter& chapter, const Attention& a) {
  if (a.elements() == 0) return;
  std::string line = "of preatt alone, ";
  for (const auto& step : steps) {
    const Cut cut = cut_of(a, step);
    const double floats = static_cast<double>(scores_of(a, cut, cut.streams));
    line += std::string(step.name) + " uses " + with_prefix(4 * floats, "B") + ", ";
  }
  chapter.say(line + "row_in_registers all of it");
}

/// What the headers say of the kernels needs these: how often each is launched, and how many scores
/// are written, masked ones too.
void say_symbols(Chapter& chapter, const Attention& a, const Cut& cut) {
  const std::vector<Strip> strips = strips_of(a, cut);
  const auto count = static_cast<int64_t>(strips.size());
  int64_t written = 0;
  for (const Strip& strip : strips) written += a.heads() * strip.queries * strip.keys;
  chapter.symbols({{"written", written}, {"launches", count}, {"strips", count}});
}

}  // namespace

void body(Chapter& chapter) {
  Attention a;
  Input& input_qkv = add_options(chapter, a);
  chapter.size("--strip", a.strip_height, {.gpu = 0, .cpu = 25},
               "queries of a strip; 0: by each step's rule");
  chapter.steps(steps);
  chapter.parse();
  require_supported(a);
  announce(chapter, a, pointer_bytes(a));
  say_memory(chapter, a);
  Workspace workspace(a);
  Attention nothing = a;
  nothing.B = 0;
  chapter.require_a_step(steps,
                         [&](Launcher* launch) { launch(nothing, nullptr, workspace, nullptr); });

  const std::vector<int64_t> rows = rows_to_check(chapter, a);
  int64_t height = 0;
  chapter.check_with([&](std::span<const float> got, const Layout& layout) {
    return compare_rows(got, attention_reference(a, input_qkv.host(), rows, height), rows, layout);
  });

  const float* qkv = input_qkv.device();
  for (const auto& step : steps) {
    if (!chapter.selected(step.name)) continue;
    const Cut cut = cut_of(a, step);
    say_symbols(chapter, a, cut);
    height = cut.height;
    chapter.run(step, [&](float* out) { step.launch(a, qkv, workspace, out); });
  }
  height = 0;
  chapter.vendor("row_in_registers", [&](float* out) { row_in_registers(a, qkv, workspace, out); });
}

}  // namespace tutorial::unfused_attention::strips
