// The program of part faster: its steps on the same matrices, beside cuBLAS.
#include "common/measure/row_major_blas.hpp"
#include "common/program/table.hpp"
#include "faster/faster.hpp"
#include "faster/scaled_product.hpp"

using namespace tutorial;
using namespace tutorial::tiled_matmul::faster;

const Usage usage =
    with_product({.program = "02_tiled_matmul/faster",
                  .summary = "C = alpha·A·B + beta·C: tiles of warps, operands read ahead",
                  .after = after,
                  .steps = listed(steps)});

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv, usage);
  const ScaledProduct product = product_of(options);
  const int64_t M = product.M, N = product.N, K = product.K;
  const float alpha = product.alpha, beta = product.beta;

  Table table(options);
  announce(table, product);

  const auto check = check_of(product, options);
  const auto restore = restore_of(product, options);
  const float *a = options.input("a").device(), *b = options.input("b").device();
  for (const auto& step : steps) {
    // `run`: the step's launcher, or its `asked`, which has the same parameters.
    const auto call = [&](auto run, float* C) { return run(a, b, C, M, N, K, alpha, beta); };
    if (auto row = table.launch(step, call, restore)) table.add(row, check(row));
  }
  const CublasHandle handle;
  const auto cublas = [&](float* C) { row_major_gemm(handle, M, N, K, alpha, a, b, beta, C); };
  if (auto row = table.launch_vendor("cuBLAS", cublas, restore)) table.add(row, check(row));
  return table.finish();
} catch (...) {
  return exit_status();
}
