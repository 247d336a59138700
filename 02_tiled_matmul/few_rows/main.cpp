// The program of part few_rows: part tensor_cores' problem with these steps, beside cuBLAS.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "few_rows/few_rows.hpp"
#include "tensor_cores/bf16_product.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul;
using namespace tutorial::tiled_matmul::few_rows;

const Usage usage = [] {
  Usage few = tensor_cores::with_product(
      {.program = "02_tiled_matmul/few_rows",
       .summary = "C = A·B from bf16 numbers where A has few rows: as fast as B can be read",
       .after = after,
       .steps = listed(steps)});
  few.sizes[0] = {"--m", {.gpu = 8, .cpu = 8}, "rows of A and C"};
  return few;
}();

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const tensor_cores::ProductOptions wanted = tensor_cores::product_options_of(options);
  const Bf16Product& product = wanted.product;

  Table table(options);
  table.require_a_step(steps, [&](Launcher* launch) {
    launch({}, nullptr, nullptr, wanted.no_output(), {}, nullptr);
  });
  announce(table, wanted);
  const std::vector<bf16> A = narrowed<bf16>(options.input("a").host());
  const std::vector<bf16> B = narrowed<bf16>(options.input("b").host());
  const DeviceBuffer<bf16> a(A), b(B);
  DeviceBuffer<std::byte> memory(few_rows::workspace_bytes(product, a.data(), b.data()));
  const Workspace workspace = workspace_in(memory);

  const auto check = check_of(wanted, A, B, options.seed());
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto multiply = [&](auto run, Output C) {
      return run(product, a.data(), b.data(), C, workspace, nullptr);
    };
    if (auto row = launch(table, wanted, step, multiply)) table.add(row, check(row));
  }
  const CublasHandle handle;
  const auto cublas = [&](Output C) {
    const auto multiply = [&](auto* to) {
      row_major_gemm(handle, product.M, product.N, product.K, a.data(), b.data(), to);
    };
    std::visit(multiply, C);
  };
  if (auto row = launch_vendor(table, wanted, "cuBLAS", cublas)) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
