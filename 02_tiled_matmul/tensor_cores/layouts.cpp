// What a Bf16Product says of its layouts.
#include <string>

#include "common/kernel/error.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

/// Elements from a row of so many to the next.
int64_t row_distance(const char* option, int64_t given, int64_t cols) {
  if (given == 0) return cols;
  if (given < cols)
    throw Error(std::string(option) + " is " + std::to_string(given) + ", and a row has " +
                std::to_string(cols) + " elements; give at least as many, or 0");
  return given;
}

}  // namespace

bool has_epilogue(const Bf16Product& product) {
  return product.alpha != 1 || product.beta != 0 || product.bias != nullptr ||
         product.act != Activation::none;
}

bool is_plain(const Bf16Product& product) {
  const auto is_tight = [](int64_t given, int64_t cols) { return given == 0 || given == cols; };
  return !has_epilogue(product) && !product.b_transposed && product.batch == 1 &&
         is_tight(product.lda, product.K) && is_tight(product.ldb, product.N) &&
         is_tight(product.ldc, product.N);
}

Bf16Product spelled_out(Bf16Product product) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const bool transposed = product.b_transposed;
  product.lda = row_distance("lda", product.lda, K);
  product.ldb = row_distance("ldb", product.ldb, transposed ? K : N);
  product.ldc = row_distance("ldc", product.ldc, N);
  // Of one product, too: then no distance is left to chance.
  const auto settle = [&](int64_t& stride, int64_t rows, int64_t ld) {
    if (stride == 0 || product.batch == 1) stride = rows * ld;
  };
  settle(product.stride_a, M, product.lda);
  settle(product.stride_b, transposed ? N : K, product.ldb);
  settle(product.stride_c, M, product.ldc);
  return product;
}

}  // namespace tutorial::tiled_matmul::tensor_cores
