// The program of part fp8: float32 tensors, rounded to 8 bits with a scale for each head; attention
// of these; and how far it is from that of the tensors before.
#include <optional>

#include "attention_program.hpp"
#include "common/program/table.hpp"
#include "fp8/errors.hpp"
#include "fp8/operands.hpp"
#include "tensor_cores/bf16_program.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;
using fp8::bf16;

const Usage usage = [] {
  Usage all = with_attention(
      {.program = "06_flash_attention/fp8",
       .summary = "attention from numbers of 8 bits, a scale a head, on compute capability 9.0",
       .after = fp8::after,
       .steps = listed(fp8::steps)});
  all.sizes = {{"--batch", {.gpu = 4, .cpu = 1}, "sequences"},
               {"--heads", {.gpu = 16, .cpu = 2}, "query heads"},
               {"--kv-heads", "--heads", "key and value heads"},
               {"--seq", {.gpu = 4096, .cpu = 300}, "queries"},
               {"--seq-kv", "--seq", "keys"},
               {"--head-dim", {.gpu = 128, .cpu = 64}, "head size, a multiple of 16 up to 128"}};
  return all;
}();

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention shape = attention_of(options);
  Table table(options);
  table.require_a_step(fp8::steps, [&](fp8::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, {}, nullptr, nullptr, {}, nullptr);
  });
  const double rows = static_cast<double>(shape.rows()), HS = static_cast<double>(shape.HS);
  const double kv_rows = static_cast<double>(shape.B * shape.NH_kv * shape.Tk);
  const Work work = work_of(shape);
  table.problem(problem_text(shape, "e4m3"),
                {.flop = work.flop,
                 .bytes = (3 * rows + 2 * kv_rows) * HS + 4 * rows,
                 .arithmetic = Arithmetic::fp8},
                {shape.B, shape.NH, shape.Tq, shape.HS}, 4 * (rows + 2 * kv_rows) * HS);
  table.say("each head of q, k and v is divided by its scale and rounded to e4m3; out is bf16");

  const std::vector<float>&q = options.input("q").host(), &k = options.input("k").host(),
        &v = options.input("v").host();
  const fp8::Operands in(shape, q, k, v);
  const fp8::Operand host_q = in.q.to_host(), host_k = in.k.to_host(), host_v = in.v.to_host();
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(fp8::workspace_bytes(shape));
  const Workspace workspace = workspace_in(memory);
  const auto poison = [&](float*) { lse.poison(), memory.poison(); };
  Wanted want = {shape, rows_to_check(shape, options.seed()), {}};
  std::optional<fp8::Errors> errors;
  if (options.compares() && shape.rows() * shape.HS > 0) errors.emplace(shape, q, k, v, want.rows);
  for (const auto& step : fp8::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* out) {
      return run(shape, in.q.values.data(), in.k.values.data(), in.v.values.data(), in.on_device(),
                 out, lse.data(), workspace, nullptr);
    };
    if (auto row = table.launch_bf16(step, call, poison)) {
      want.of_rows = fp8::reference(shape, host_q, host_k, host_v, want.rows,
                                    fp8::tile_sizes(step.launch, shape).keys);
      if (errors) errors->add(step.name, row.output, want.of_rows.out.value);
      table.add(row, want.compare(row, row.fetch(lse)));
    }
  }
  if (errors) {
    const tensor_cores::RoundedInputs wide(shape, options);
    if (auto row = table.launch({.name = "bf16, head_sizes",
                                 .launch_bf16 =
                                     [&](bf16* out) {
                                       hopper::head_sizes(shape, wide.q, wide.k, wide.v, out,
                                                          lse.data(), workspace, nullptr);
                                     },
                                 .before = poison})) {
      errors->add("bf16, head_sizes", row.output, wide.want.of_rows.out.value);
      table.add(row, wide.compare(row, row.fetch(lse)));
    }
    errors->note(table);
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
