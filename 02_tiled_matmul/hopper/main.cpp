// The program of part hopper: part tensor_cores' problem with these steps, beside cuBLAS.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/program/table.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/bf16_product.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul;
using namespace tutorial::tiled_matmul::hopper;

const Usage usage = [] {
  Usage own = tensor_cores::with_layouts(tensor_cores::with_product(
      {.program = "02_tiled_matmul/hopper",
       .summary = "C = A·B from bf16 numbers on compute capability 9.0: TMA, wgmma, clusters",
       .after = after,
       .steps = listed(steps)}));
  own.texts.push_back({"--epilogue", "none", "or bias, gelu, bias_gelu: what becomes of A·B"});
  own.inputs.push_back({"bias", {"--n"}, "of each column of C, for --epilogue"});
  return own;
}();

/// What --epilogue says, in the product.
void read_epilogue(const Options& options, Bf16Product& product) {
  const std::string& which = options.text("--epilogue");
  const bool has_bias = which.starts_with("bias"), has_gelu = which.ends_with("gelu");
  if (which != "none" && which != "bias" && which != "gelu" && which != "bias_gelu")
    throw Error("--epilogue is none, bias, gelu or bias_gelu, and not \"" + which + "\"");
  if (has_bias) product.bias = options.input("bias").device();
  if (has_gelu) product.act = Activation::gelu;
}

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  tensor_cores::ProductOptions wanted = tensor_cores::layout_options_of(options);
  read_epilogue(options, wanted.product);
  const Bf16Product& product = wanted.product;

  Table table(options);
  table.require_a_step(steps, [&](Launcher* launch) {
    launch(wanted.no_elements(), nullptr, nullptr, wanted.no_output(), {}, nullptr);
  });
  announce(table, wanted);
  const std::vector<bf16> A = narrowed<bf16>(options.input("a").host());
  const std::vector<bf16> B = narrowed<bf16>(options.input("b").host());
  const std::vector<float> bias =
      product.bias == nullptr ? std::vector<float>() : options.input("bias").host();
  const DeviceBuffer<bf16> a(tensor_cores::laid_out_a(product, A)),
      b(tensor_cores::laid_out_b(product, B));
  DeviceBuffer<std::byte> memory(workspace_bytes(product, a.data(), b.data()));
  const Workspace workspace = workspace_in(memory);

  // What a kernel of its own finishes was rounded to C's type before.
  const bool is_finished = tensor_cores::has_epilogue(product);
  const auto check_with = [&](bool rounds) {
    const auto then = [&, rounds](Expected sums) {
      return with_epilogue(rounds ? in_bf16(sums) : sums, product, bias);
    };
    return is_finished ? check_of(wanted, A, B, options.seed(), then)
                       : check_of(wanted, A, B, options.seed());
  };
  const auto check = check_with(false), check_finished = check_with(wanted.is_c_bf16);
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto multiply = [&](auto run, Output C) {
      return run(product, a.data(), b.data(), C, workspace, nullptr);
    };
    if (auto row = launch(table, wanted, step, multiply)) table.add(row, check(row));
  }
  const auto separate = [&](Output C) {
    two_kernels(product, a.data(), b.data(), C, workspace, nullptr);
  };
  if (is_finished && why_not_here("sm_90a").empty())
    if (auto row = launch_beside(table, wanted, "two_kernels", separate))
      table.add(row, check_finished(row));
  const auto then = [&](Output C) { finish(product, C, nullptr); };
  if (auto row = tensor_cores::launch_cublas(table, wanted, a.data(), b.data(), then))
    table.add(row, check_finished(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
