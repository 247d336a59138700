// The program of part any_shape: other head sizes and few queries, beside chapter 05; for few
// queries beside a copy of k, too.
#include <cstddef>

#include "any_shape/any_shape.hpp"
#include "any_shape/paths.hpp"
#include "attention_program.hpp"
#include "chapter_05_rows.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;

const Usage usage =
    with_attention({.program = "06_flash_attention/any_shape",
                    .summary = "attention in fp32 for every head size, and for few queries",
                    .after = any_shape::after,
                    .texts = {lengths_option()},
                    .steps = listed(any_shape::steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention padded = attention_of(options);
  const GivenLengths lengths(options, padded);
  const Attention shape = lengths.on_device(padded);
  const auto steps = steps_for(options, any_shape::steps, lengths.any() ? LENGTHS : 0);

  Table table(options);
  table.require_a_step(steps, [&](any_shape::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  });
  const std::string no_chapter_05 = !options.compares() ? ""
                                    : lengths.any()     ? "it knows one length for all sequences"
                                                        : why_no_chapter_05(shape);
  const bool has_chapter_05 =
      options.compares() && no_chapter_05.empty() && shape.rows() * shape.HS > 0;
  const int64_t bytes = any_shape::workspace_bytes(shape);
  announce(table, lengths.on_host(padded),
           static_cast<double>(bytes) + (has_chapter_05 ? chapter_05_bytes(shape) : 0));
  if (lengths.any()) table.say(lengths.text(padded));

  const Wanted want = wanted(lengths.on_host(padded), options);
  const float *q = options.input("q").device(), *k = options.input("k").device(),
              *v = options.input("v").device();
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(bytes);
  const Workspace workspace = workspace_in(memory);
  const auto poison = [&](float*) { lse.poison(), memory.poison(); };
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* out) {
      return run(shape, q, k, v, out, lse.data(), workspace, nullptr);
    };
    if (auto row = table.launch(step, call, poison))
      table.add(row, want.compare(row, row.fetch(lse)));
  }

  if (options.compares() && reads_more_than_it_computes(shape))
    if (auto row = table.launch(plain_copy(shape, k)))
      table.add(row, compare_copy(row, options.input("k").host()));
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
