// The program of part faster: the road's problem with larger tiles, beside chapter 05.
#include "attention_program.hpp"
#include "chapter_05_rows.hpp"
#include "faster/faster.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;

const Usage usage =
    with_attention({.program = "06_flash_attention/faster",
                    .summary = "attention in fp32 with larger tiles, and what feeds them",
                    .after = faster::after,
                    .steps = listed(faster::steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention shape = attention_of(options);

  Table table(options);
  table.require_a_step(faster::steps, [&](Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
  const std::string no_chapter_05 = options.compares() ? why_no_chapter_05(shape) : "";
  const bool has_chapter_05 =
      options.compares() && no_chapter_05.empty() && shape.rows() * shape.HS > 0;
  announce(table, shape, has_chapter_05 ? chapter_05_bytes(shape) : 0);

  const Wanted want = wanted(shape, options);
  const float *q = options.input("q").device(), *k = options.input("k").device(),
              *v = options.input("v").device();
  DeviceBuffer<float> lse(shape.rows()), scratch(shape.rows());
  const auto poison = [&](float*) { lse.poison(), scratch.poison(); };
  for (const auto& step : faster::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* out) {
      return run(shape, q, k, v, out, lse.data(), scratch.data());
    };
    if (auto row = table.launch(step, call, poison))
      table.add(row, want.compare(row, row.fetch(lse)));
  }

  if (has_chapter_05) {
    Chapter05 unfused(shape, options);
    if (auto row = table.launch_vendor("chapter 05", [&](float* out) { unfused.pipeline(out); }))
      table.add(row, want.compare_out(heads_in_front(shape, row.output), row.layout));
    if (auto row = table.launch_vendor("05, not fused", [&](float* out) { unfused.stages(out); }))
      table.add(row, want.compare_out(row.output, row.layout));
  } else if (!no_chapter_05.empty()) {
    table.note("chapter 05 is left out: " + no_chapter_05);
  }
  table.note(memory_text(shape));
  return table.finish();
} catch (...) {
  return exit_status();
}
