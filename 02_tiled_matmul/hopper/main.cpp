// The program of part hopper: part tensor_cores' problem with these steps, beside cuBLAS.
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/bf16_product.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::hopper;
namespace tensor_cores = tutorial::tiled_matmul::tensor_cores;

const Usage usage = tensor_cores::with_product(
    {.program = "02_tiled_matmul/hopper",
     .summary = "C = A·B from bf16 numbers on compute capability 9.0: TMA, wgmma, clusters",
     .after = after,
     .steps = listed(steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const tensor_cores::Bf16Product product = tensor_cores::product_of(options);
  const auto [M, N, K, is_c_bf16] = product;

  Table table(options);
  table.require_a_step(
      steps, [&](Launcher* launch) { launch(nullptr, nullptr, product.no_output(), 0, 0, 0); });
  announce(table, product);
  const std::vector<bf16> A = narrowed<bf16>(options.input("a").host());
  const std::vector<bf16> B = narrowed<bf16>(options.input("b").host());
  const DeviceBuffer<bf16> a(A), b(B);
  table.symbols(symbols_of(a.data(), b.data(), product.no_output(), M, N, K));

  const auto check = check_of(product, A, B, options.seed());
  for (const auto& step : steps) {
    const auto multiply = [&](Output C) { step.launch(a.data(), b.data(), C, M, N, K); };
    if (auto row = launch(table, product, step, multiply)) table.add(row, check(row));
  }
  const CublasHandle handle;
  const auto cublas = [&](Output C) {
    std::visit([&](auto* to) { row_major_gemm(handle, M, N, K, a.data(), b.data(), to); }, C);
  };
  if (auto row = launch_vendor(table, product, "cuBLAS", cublas)) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
