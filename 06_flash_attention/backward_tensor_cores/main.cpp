// The program of part backward_tensor_cores: the gradients of attention in bf16.
#include <algorithm>
#include <cstddef>

#include "attention_program.hpp"
#include "backward/backward_program.hpp"
#include "backward_tensor_cores/backward_tensor_cores.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "tensor_cores/tensor_cores.hpp"

using namespace tutorial;
using namespace tutorial::flash_attention;
using namespace tutorial::flash_attention::backward_tensor_cores;

const Usage usage = {
    .program = "06_flash_attention/backward_tensor_cores",
    .summary = "the gradients of q, k and v in bf16, all products on tensor cores",
    .after = backward_tensor_cores::after,
    .sizes = {{"--batch", {.gpu = 4, .cpu = 1}, "sequences"},
              {"--heads", {.gpu = 16, .cpu = 1}, "query heads"},
              {"--kv-heads", "--heads", "key and value heads"},
              {"--seq", {.gpu = 4096, .cpu = 160}, "queries"},
              {"--seq-kv", "--seq", "keys"},
              {"--head-dim", {.gpu = 128, .cpu = 64}, "head size"}},
    .flags = {{"--causal,!--full", true,
               "query i sees keys up to i + (seq-kv − seq); --full: all keys"}},
    .inputs = {{"q", {"--batch", "--heads", "--seq", "--head-dim"}, "queries, rounded to bf16"},
               {"k", {"--batch", "--kv-heads", "--seq-kv", "--head-dim"}, "keys, rounded to bf16"},
               {"v",
                {"--batch", "--kv-heads", "--seq-kv", "--head-dim"},
                "values, rounded to bf16"},
               {"dout",
                {"--batch", "--heads", "--seq", "--head-dim"},
                "the gradient of out, rounded to bf16"}},
    .steps = listed(backward_tensor_cores::steps),
    .output = "dq, dk, dv"};

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const Attention shape = attention_of(options);

  Table table(options);
  const Attention nothing = without_elements(shape);
  table.require_a_step(backward_tensor_cores::steps, [&](backward_tensor_cores::Launcher* launch) {
    launch(nothing, {}, {}, nullptr);
  });
  const int64_t bytes = backward_tensor_cores::workspace_bytes(shape);
  backward::announce(table, shape, bytes, backward::Precision::bf16);

  const auto rounded = [&](const char* name) {
    return DeviceBuffer<bf16>(narrowed<bf16>(options.input(name).host()));
  };
  const DeviceBuffer<bf16> q = rounded("q"), k = rounded("k"), v = rounded("v"),
                           dout = rounded("dout");
  DeviceBuffer<bf16> out(shape.rows() * shape.HS);
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(bytes);
  const auto wide = [](const DeviceBuffer<bf16>& x) { return widened<bf16>(x.to_host()); };
  const std::vector<float> host_q = wide(q), host_k = wide(k), host_v = wide(v),
                           host_dout = wide(dout);
  table.watch("the forward pass", [&] {
    if (shape.HS % 8 == 0)
      return tensor_cores::head_sizes(shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
                                      nullptr);
    // Rows of other lengths no forward pass in bf16 takes.
    const DeviceBuffer<float> wide_q(host_q), wide_k(host_k), wide_v(host_v);
    DeviceBuffer<float> wide_out(shape.rows() * shape.HS);
    DeviceBuffer<std::byte> scratch(any_shape::workspace_bytes(shape));
    backward::forward_pass(shape, wide_q.data(), wide_k.data(), wide_v.data(), wide_out.data(),
                           lse.data(), workspace_in(scratch), nullptr);
    out.from_host(narrowed<bf16>(wide_out.to_host()));
  });
  const std::vector<float> host_out = wide(out), host_lse = lse.to_host();
  const backward::Wanted want =
      backward::wanted(shape, {host_q, host_k, host_v, host_out, host_dout, host_lse},
                       options.seed(), backward::Precision::bf16);

  const backward::Gradients gradients = backward::gradients_of(shape);
  for (const auto& step : backward_tensor_cores::steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, bf16* all) {
      return run(shape,
                 {.q = q.data(),
                  .k = k.data(),
                  .v = v.data(),
                  .out = out.data(),
                  .dout = dout.data(),
                  .lse = lse.data(),
                  .dq = all,
                  .dk = gradients.dk(all),
                  .dv = gradients.dv(all)},
                 workspace_in(memory), nullptr);
    };
    if (auto row = table.launch_bf16(step, call, [&](float*) { memory.poison(); }))
      table.add(row, want.compare(row.output));
  }
  return table.finish();
} catch (...) {
  return exit_status();
}
