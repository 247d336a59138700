#include "faster/scaled_product.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "common/data/npy.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::tiled_matmul::faster {
namespace {

float as_float(const char* option, double value) {
  if (std::abs(value) > std::numeric_limits<float>::max())
    throw Error(std::string(option) + " does not fit into float32; give a smaller number");
  return static_cast<float>(value);
}

bool is_plain(const ScaledProduct& product) {
  return product.alpha == 1 && product.beta == 0;
}

/// "C[4096×4096] = 2 · A[4096×4096] · B[4096×4096] + 3 · C, fp32"
std::string formula(const ScaledProduct& product) {
  const int64_t M = product.M, N = product.N, K = product.K;
  std::ostringstream line;
  line << "C[" << shape_text({M, N}) << "] = ";
  if (!is_plain(product)) line << product.alpha << " · ";
  line << "A[" << shape_text({M, K}) << "] · B[" << shape_text({K, N}) << "]";
  if (!is_plain(product)) line << " + " << product.beta << " · C";
  line << ", fp32";
  return line.str();
}

}  // namespace

Usage with_product(Usage own) {
  own.sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
               {"--n", {.gpu = 4096, .cpu = 200}, "columns of B and C"},
               {"--k", {.gpu = 4096, .cpu = 160}, "columns of A, rows of B"}};
  own.numbers = {{"--alpha", 1, "C = alpha·A·B + beta·C"},
                 {"--beta", 0, "0: what C holds before does not matter"}};
  own.inputs = {{"a", {"--m", "--k"}, "the left matrix"},
                {"b", {"--k", "--n"}, "the right matrix"},
                {"c", {"--m", "--n"}, "what C holds before, for --beta"}};
  return own;
}

ScaledProduct product_of(const Options& options) {
  return {.M = options.size("--m"),
          .N = options.size("--n"),
          .K = options.size("--k"),
          .alpha = as_float("--alpha", options.number("--alpha")),
          .beta = as_float("--beta", options.number("--beta"))};
}

void announce(Table& table, const ScaledProduct& product, double scratch_bytes) {
  const double m = product.M, n = product.N, k = product.K;
  const double accesses_to_C = product.beta == 0 ? 1 : 2;
  table.problem(formula(product),
                {.flop = 2 * m * n * k, .bytes = 4 * (m * k + k * n + accesses_to_C * m * n)},
                {product.M, product.N}, scratch_bytes);
}

std::function<Comparison(const Launched&)> check_of(const ScaledProduct& product,
                                                    const Options& options) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const bool is_small = static_cast<double>(M) * N * K <= affordable(2e8),
             plain = is_plain(product);
  const std::vector<float>&A = options.input("a").host(), &B = options.input("b").host();
  const std::vector<float> before =
      product.beta == 0 ? std::vector<float>() : options.input("c").host();
  const int64_t count = is_small ? M : plain ? 16 : 64;
  const std::vector<int64_t> rows = sample_rows(M, count, options.seed());
  const Expected want = reference(A, B, N, K, rows, product.alpha, product.beta, before);
  return [=, &A, &B, &options](const Launched& row) {
    const Comparison some = compare_rows(row.output, want, rows, row.layout);
    if (!some.ok || is_small || !plain) return some;
    const Comparison sums =
        freivalds(A, B, row.output, product.M, product.N, product.K, options.seed(), row.layout);
    return sums.ok ? some : sums;
  };
}

std::function<void(float*)> restore_of(const ScaledProduct& product, const Options& options) {
  if (product.beta == 0) return {};
  const float* before = options.input("c").device();
  const size_t bytes = product.M * product.N * sizeof(float);
  return [=](float* C) { CUDA_CHECK(cudaMemcpy(C, before, bytes, cudaMemcpyDeviceToDevice)); };
}

}  // namespace tutorial::tiled_matmul::faster
