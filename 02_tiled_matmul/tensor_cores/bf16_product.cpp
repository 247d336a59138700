#include "tensor_cores/bf16_product.hpp"

#include <string>
#include <utility>

#include "common/data/narrow.hpp"
#include "common/data/npy.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

Usage with_product(Usage own) {
  own.sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
               {"--n", {.gpu = 4096, .cpu = 200}, "columns of B and C"},
               {"--k", {.gpu = 4096, .cpu = 160}, "columns of A, rows of B"}};
  own.flags = {{"--bf16-out", false, "C in bf16, too; else it is fp32"}};
  own.inputs = {{"a", {"--m", "--k"}, "the left matrix, rounded to bf16"},
                {"b", {"--k", "--n"}, "the right matrix, rounded to bf16"}};
  return own;
}

ProductOptions product_options_of(const Options& options) {
  return {.product = {.M = options.size("--m"), .N = options.size("--n"), .K = options.size("--k")},
          .is_c_bf16 = options.flag("--bf16-out")};
}

void announce(Table& table, const ProductOptions& options) {
  const auto& [product, is_c_bf16] = options;
  const int64_t M = product.M, N = product.N, K = product.K;
  const double m = M, n = N, k = K, bytes_of_c = is_c_bf16 ? 2 : 4;
  // A and B in bf16, which begin at aligned addresses, and the workspace
  const double bytes_of_inputs = 2 * (m * k + k * n);
  const double scratch = bytes_of_inputs + workspace_bytes(product, nullptr, nullptr);
  table.problem("C[" + shape_text({M, N}) + "] = A[" + shape_text({M, K}) + "] · B[" +
                    shape_text({K, N}) + "], bf16 in, " + (is_c_bf16 ? "bf16" : "fp32") + " out",
                {.flop = 2 * m * n * k,
                 .bytes = bytes_of_inputs + bytes_of_c * m * n,
                 .arithmetic = Arithmetic::bf16},
                {M, N}, scratch);
  table.say("A and B are rounded to bf16, to nearest even, and added up in fp32" +
            std::string(is_c_bf16 ? "; C is rounded to bf16" : ""));
}

std::function<Comparison(const Launched&)> check_of(const ProductOptions& options,
                                                    const std::vector<bf16>& narrow_a,
                                                    const std::vector<bf16>& narrow_b,
                                                    uint64_t seed) {
  const int64_t M = options.product.M, N = options.product.N, K = options.product.K;
  const bool is_c_bf16 = options.is_c_bf16;
  const bool is_small = static_cast<double>(M) * N * K <= affordable(2e8);
  const std::vector<float> A = widened<bf16>(narrow_a), B = widened<bf16>(narrow_b);
  const std::vector<int64_t> rows = sample_rows(M, is_small ? M : 16, seed);
  Expected want = reference(A, B, N, K, rows);
  if (is_c_bf16) want = in_bf16(std::move(want));
  // The bounds of reference.cpp as multiples of a fp32 sum's; |C| is at most Σ|a||b|.
  const double factor = (gamma_bound(3 * K + 4) + (is_c_bf16 ? 0x1.02p-8 : 0)) / gamma_bound(K + 1);
  return [=](const Launched& row) {
    const Comparison some = compare_rows(row.output, want, rows, row.layout);
    if (!some.ok || is_small) return some;
    const Comparison sums = freivalds(A, B, row.output, M, N, K, seed, row.layout, factor);
    return sums.ok ? some : sums;
  };
}

Launched launch_vendor(Table& table, const ProductOptions& options, const std::string& name,
                       const std::function<void(Output)>& launch) {
  if (options.is_c_bf16)
    return table.launch_vendor({.name = name, .launch_bf16 = [=](bf16* C) { launch(Output(C)); }});
  return table.launch_vendor(name, [=](float* C) { launch(Output(C)); });
}

}  // namespace tutorial::tiled_matmul::tensor_cores
