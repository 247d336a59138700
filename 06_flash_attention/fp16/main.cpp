// The program of part fp16: attention in fp16.
#include <algorithm>

#include "attention_program.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/program/table.hpp"
#include "fp16/fp16.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;

const Usage usage = [] {
  Usage own = with_attention({.program = "06_flash_attention/fp16",
                              .summary = "attention in fp16, both products on tensor cores",
                              .after = fp16::after,
                              .steps = listed(fp16::steps)});
  own.sizes = {{"--batch", {.gpu = 4, .cpu = 1}, "sequences"},
               {"--heads", {.gpu = 16, .cpu = 2}, "query heads"},
               {"--kv-heads", "--heads", "key and value heads"},
               {"--seq", {.gpu = 4096, .cpu = 160}, "queries"},
               {"--seq-kv", "--seq", "keys"},
               {"--head-dim", {.gpu = 128, .cpu = 64}, "head size, a multiple of 8 up to 128"}};
  return own;
}();

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention shape = attention_of(options);

  Table table(options);
  table.require_a_step(fp16::steps, [&](fp16::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
  const Work work = work_of(shape);
  const double rows = static_cast<double>(shape.rows()), HS = static_cast<double>(shape.HS);
  const double elements = (2 * rows + 2 * work.kv_rows) * HS;  // of q, out, k and v
  table.problem(
      problem_text(shape, "fp16"),
      {.flop = work.flop, .bytes = 2 * elements + 4 * rows, .arithmetic = Arithmetic::fp16},
      {shape.B, shape.NH, shape.Tq, shape.HS}, 2 * elements + 4 * rows);
  table.say("q, k and v are rounded to fp16 (to nearest even); checked against these numbers");

  const auto rounded = [&](const char* name) {
    const std::vector<float>& values = options.input(name).host();
    if (const int64_t count = count_overflows<__half>(values); count > 0)
      table.say(std::to_string(count) + " of " + name +
                "'s numbers are beyond fp16's largest, 65504, and infinite in fp16");
    return narrowed<__half>(values);
  };
  const std::vector<__half> host_q = rounded("q"), host_k = rounded("k"), host_v = rounded("v");
  const std::vector<int64_t> some = rows_to_check(shape, options.seed());
  const Wanted want = {
      shape, some,
      tensor_cores::reference_fp16(shape, widened<__half>(host_q), widened<__half>(host_k),
                                   widened<__half>(host_v), some)};
  const DeviceBuffer<__half> q(host_q), k(host_k), v(host_v);
  DeviceBuffer<float> lse(shape.rows());
  for (const auto& step : fp16::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, __half* out) {
      return run(shape, q.data(), k.data(), v.data(), out, lse.data(), nullptr);
    };
    if (auto row = table.launch_fp16(step, call, [&](float*) { lse.poison(); }))
      table.add(row, want.compare(row, row.fetch(lse)));
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
