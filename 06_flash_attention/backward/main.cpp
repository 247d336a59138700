// The program of part backward: the gradients of attention, and what each step keeps for them.
#include <algorithm>
#include <cstddef>

#include "any_shape/any_shape.hpp"
#include "attention_program.hpp"
#include "backward/backward.hpp"
#include "backward/backward_program.hpp"
#include "common/data/device_buffer.hpp"

using namespace tutorial;
using flash_attention::Attention;
using namespace tutorial::flash_attention::backward;

const Usage usage = {
    .program = "06_flash_attention/backward",
    .summary = "the gradients of q, k and v, with the scores computed again",
    .after = after,
    .sizes = {{"--batch", {.gpu = 8, .cpu = 1}, "sequences"},
              {"--heads", {.gpu = 12, .cpu = 1}, "query heads"},
              {"--kv-heads", "--heads", "key and value heads"},
              {"--seq", {.gpu = 1024, .cpu = 96}, "queries"},
              {"--seq-kv", "--seq", "keys"},
              {"--head-dim", {.gpu = 64, .cpu = 32}, "head size"}},
    .flags = {{"--causal,!--full", true,
               "query i sees keys up to i + (seq-kv − seq); --full: all keys"}},
    .inputs = {{"q", {"--batch", "--heads", "--seq", "--head-dim"}, "queries"},
               {"k", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "keys"},
               {"v", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "values"},
               {"dout", {"--batch", "--heads", "--seq", "--head-dim"}, "the gradient of out"}},
    .steps = listed(steps),
    .output = "dq, dk, dv"};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention shape = flash_attention::attention_of(options);

  Table table(options);
  const Attention nothing = flash_attention::without_elements(shape);
  table.require_a_step(steps, [&](Launcher* launch) { launch(nothing, {}, {}, nullptr); });
  forward_pass(nothing, nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  int64_t bytes = flash_attention::any_shape::workspace_bytes(shape);  // of the forward pass
  for (const auto& step : steps)
    if (options.selected(step.name)) bytes = std::max(bytes, workspace_bytes(shape, step.launch));
  announce(table, shape, bytes);

  Input &q = options.input("q"), &k = options.input("k"), &v = options.input("v"),
        &dout = options.input("dout");
  DeviceBuffer<float> out(shape.rows() * shape.HS), lse(shape.rows());
  DeviceBuffer<std::byte> memory(bytes);
  const Workspace workspace = workspace_in(memory);
  table.watch("the forward pass", [&] {
    forward_pass(shape, q.device(), k.device(), v.device(), out.data(), lse.data(), workspace,
                 nullptr);
  });
  const std::vector<float> host_out = out.to_host(), host_lse = lse.to_host();
  const Wanted want = wanted(shape, {q.host(), k.host(), v.host(), host_out, dout.host(), host_lse},
                             options.seed());

  const Gradients gradients = gradients_of(shape);
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* all) {
      return run(shape,
                 {.q = q.device(),
                  .k = k.device(),
                  .v = v.device(),
                  .out = out.data(),
                  .dout = dout.device(),
                  .lse = lse.data(),
                  .dq = all,
                  .dk = gradients.dk(all),
                  .dv = gradients.dv(all)},
                 workspace, nullptr);
    };
    if (auto row = table.launch(step, call, [&](float*) { memory.poison(); }))
      table.add(row, want.compare(row.output));
  }
  table.note(memory_text(shape));
  return table.finish();
} catch (...) {
  return exit_status();
}
