// The program of part tensor_cores: attention in bf16.
#include "tensor_cores/bf16_program.hpp"
#include "tensor_cores/tensor_cores.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;
using tensor_cores::bf16;

constexpr int64_t QUERIES_ON_CPU = 160;
const Usage usage = tensor_cores::with_bf16_attention(
    {.program = "06_flash_attention/tensor_cores",
     .summary = "attention in bf16, both products on tensor cores",
     .after = tensor_cores::after,
     .steps = listed(tensor_cores::steps)},
    QUERIES_ON_CPU);

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention padded = tensor_cores::bf16_attention_of(options);
  const GivenLengths lengths(options, padded);
  const Attention shape = lengths.on_device(padded);
  const unsigned needs = tensor_cores::needs_of(options);
  const auto steps = steps_for(options, tensor_cores::steps, needs);

  Table table(options);
  table.require_a_step(steps, [&](tensor_cores::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
  tensor_cores::announce_bf16(table, padded, lengths, options.text("--layout"));

  const tensor_cores::RoundedInputs in(padded, options, lengths, options.text("--layout"));
  DeviceBuffer<float> lse(shape.rows());
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* out) {
      return run(shape, in.q, in.k, in.v, out, lse.data(), nullptr);
    };
    if (auto row = table.launch_bf16(step, call, [&](float*) { lse.poison(); }))
      table.add(row, in.compare(row, row.fetch(lse)));
  }
  if ((needs & STRIDES) != 0 && options.compares()) {
    tensor_cores::PermutedFirst permuted(shape);
    const auto step = [&](const Attention& dense, const bf16* q, const bf16* k, const bf16* v,
                          bf16* out) {
      (lengths.any() ? tensor_cores::lengths : tensor_cores::head_sizes)(dense, q, k, v, out,
                                                                         lse.data(), nullptr);
    };
    if (auto row = table.launch({.name = "permuted first",
                                 .launch_bf16 = [&](bf16* out) { permuted.launch(in, out, step); },
                                 .before = [&](float*) { lse.poison(); }}))
      table.add(row, in.compare(row, row.fetch(lse)));
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
