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
  const Attention shape = attention_of(options);

  Table table(options);
  table.require_a_step(tensor_cores::steps, [&](tensor_cores::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  });
  tensor_cores::announce_bf16(table, shape);

  const tensor_cores::RoundedInputs in(shape, options);
  DeviceBuffer<float> lse(shape.rows());
  for (const auto& step : tensor_cores::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* out) {
      return run(shape, in.q.data(), in.k.data(), in.v.data(), out, lse.data(), nullptr);
    };
    if (auto row = table.launch_bf16(step, call, [&](float*) { lse.poison(); }))
      table.add(row, in.want.compare(row, row.fetch(lse)));
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
