// The program of part hopper: part tensor_cores' problem, with these steps.
#include "hopper/hopper.hpp"
#include "tensor_cores/bf16_program.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;
using tensor_cores::bf16;

constexpr int64_t QUERIES_ON_CPU = 300;  // three tiles of queries
const Usage usage = tensor_cores::with_bf16_attention(
    {.program = "06_flash_attention/hopper",
     .summary = "the same on wgmma and TMA, for compute capability 9.0a",
     .after = hopper::after,
     .steps = listed(hopper::steps)},
    QUERIES_ON_CPU);

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention padded = tensor_cores::bf16_attention_of(options);
  const GivenLengths lengths(options, padded);
  const Attention shape = lengths.on_device(padded);
  const unsigned needs = tensor_cores::needs_of(options);
  const auto steps = steps_for(options, hopper::steps, needs);

  Table table(options);
  table.require_a_step(steps, [&](hopper::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  });
  tensor_cores::announce_bf16(table, padded, lengths, options.text("--layout"));

  const tensor_cores::RoundedInputs in(padded, options, lengths, options.text("--layout"));
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(hopper::workspace_bytes(shape));
  const Workspace workspace = workspace_in(memory);
  const auto poison = [&](float*) { lse.poison(), memory.poison(); };
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* out) {
      return run(shape, in.q, in.k, in.v, out, lse.data(), workspace, nullptr);
    };
    if (auto row = table.launch_bf16(step, call, poison))
      table.add(row, in.compare(row, row.fetch(lse)));
  }
  if ((needs & STRIDES) != 0 && options.compares()) {
    tensor_cores::PermutedFirst permuted(shape);
    const auto step = [&](const Attention& dense, const bf16* q, const bf16* k, const bf16* v,
                          bf16* out) {
      (lengths.any() ? hopper::lengths : hopper::head_sizes)(dense, q, k, v, out, lse.data(),
                                                             workspace, nullptr);
    };
    if (auto row = table.launch({.name = "permuted first",
                                 .launch_bf16 = [&](bf16* out) { permuted.launch(in, out, step); },
                                 .before = poison}))
      table.add(row, in.compare(row, row.fetch(lse)));
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
