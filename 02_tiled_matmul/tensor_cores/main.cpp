// The program of part tensor_cores: every step on the same matrices of bf16, beside cuBLAS.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/program/table.hpp"
#include "tensor_cores/bf16_product.hpp"
#include "tensor_cores/tensor_cores.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::tensor_cores;

const Usage usage = with_layouts(
    with_product({.program = "02_tiled_matmul/tensor_cores",
                  .summary = "C = A·B on tensor cores: bf16 in, fp32 added up, fp32 or bf16 out",
                  .after = after,
                  .steps = listed(steps)}));

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const ProductOptions wanted = layout_options_of(options);
  const Bf16Product& product = wanted.product;

  Table table(options);
  table.require_a_step(steps, [&](Launcher* launch) {
    launch(wanted.no_elements(), nullptr, nullptr, wanted.no_output(), {}, nullptr);
  });
  announce(table, wanted);
  const std::vector<bf16> A = narrowed<bf16>(options.input("a").host());
  const std::vector<bf16> B = narrowed<bf16>(options.input("b").host());
  const DeviceBuffer<bf16> a(laid_out_a(product, A)), b(laid_out_b(product, B));
  DeviceBuffer<std::byte> memory(workspace_bytes(product, a.data(), b.data()));
  const Workspace workspace = workspace_in(memory);

  const auto check = check_of(wanted, A, B, options.seed());
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto multiply = [&](auto run, Output C) {
      return run(product, a.data(), b.data(), C, workspace, nullptr);
    };
    if (auto row = launch(table, wanted, step, multiply)) table.add(row, check(row));
  }
  if (auto row = launch_cublas(table, wanted, a.data(), b.data())) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
