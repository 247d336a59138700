// The program of part few_queries: part tensor_cores' problem with these steps, beside a copy of k.
#include "common/data/narrow.hpp"
#include "few_queries/few_queries.hpp"
#include "tensor_cores/bf16_program.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;
using tensor_cores::bf16;

const Usage usage = [] {
  Usage few = tensor_cores::with_bf16_attention(
      {.program = "06_flash_attention/few_queries",
       .summary = "attention in bf16 for few queries: as fast as keys and values can be read",
       .after = few_queries::after,
       .steps = listed(few_queries::steps)},
      0);
  few.sizes = {{"--batch", {.gpu = 8, .cpu = 1}, "sequences"},
               {"--heads", {.gpu = 32, .cpu = 4}, "query heads"},
               {"--kv-heads", {.gpu = 8, .cpu = 2}, "key and value heads"},
               {"--seq", {.gpu = 1, .cpu = 1}, "queries"},
               {"--seq-kv", {.gpu = 4096, .cpu = 600}, "keys"},
               {"--head-dim", {.gpu = 128, .cpu = 64}, "head size, a multiple of 8"}};
  few.texts = {};  // contiguous tensors, one length
  return few;
}();

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention shape = attention_of(options);

  Table table(options);
  table.require_a_step(few_queries::steps, [&](few_queries::Launcher* launch) {
    launch(without_elements(shape), nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  });
  tensor_cores::announce_bf16(table, shape);

  const tensor_cores::RoundedInputs in(shape, options);
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(few_queries::workspace_bytes(shape));
  const Workspace workspace = workspace_in(memory);
  for (const auto& step : few_queries::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* out) {
      return run(shape, in.q, in.k, in.v, out, lse.data(), workspace, nullptr);
    };
    const auto poison = [&](float*) { lse.poison(), memory.poison(); };
    if (auto row = table.launch_bf16(step, call, poison))
      table.add(row, in.compare(row, row.fetch(lse)));
  }
  if (options.compares() && reads_more_than_it_computes(shape))
    if (auto row = table.launch(plain_copy(shape, in.k)))
      table.add(row, compare_copy(row, rounded_to<bf16>(options.input("k").host())));
  return table.finish();
} catch (...) {
  return exit_status();
}
