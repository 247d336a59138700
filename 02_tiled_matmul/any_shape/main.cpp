// The program of part any_shape: its steps on the same matrices, beside cuBLAS.
#include "any_shape/any_shape.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "faster/scaled_product.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::any_shape;
namespace faster = tutorial::tiled_matmul::faster;

const Usage usage =
    faster::with_product({.program = "02_tiled_matmul/any_shape",
                          .summary = "C = alpha·A·B + beta·C for matrices of any shape",
                          .after = after,
                          .steps = listed(steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const faster::ScaledProduct product = faster::product_of(options);

  Table table(options);
  const int64_t bytes =
      workspace_bytes(product, nullptr);  // for a B that is aligned, as it is here
  announce(table, product, bytes);

  const auto check = check_of(product, options);
  const auto restore = restore_of(product, options);
  const float *a = options.input("a").device(), *b = options.input("b").device();
  DeviceBuffer<std::byte> memory(bytes);
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* C) {
      return run(product, a, b, C, workspace_in(memory), nullptr);  // the default stream
    };
    if (auto row = table.launch(step, call, restore)) table.add(row, check(row));
  }
  const CublasHandle handle;
  const auto cublas = [&](float* C) {
    row_major_gemm(handle, product.M, product.N, product.K, product.alpha, a, b, product.beta, C);
  };
  if (auto row = table.launch_vendor("cuBLAS", cublas, restore)) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
