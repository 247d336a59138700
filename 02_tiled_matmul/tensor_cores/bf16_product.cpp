#include "tensor_cores/bf16_product.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/data/narrow.hpp"
#include "common/data/npy.hpp"
#include "common/measure/row_major_blas.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

/// X (rows, cols), from so many rows further down and columns further right on; what leaves on one
/// side comes back on the other.
template <class T>
std::vector<T> turned(const std::vector<T>& X, int64_t rows, int64_t cols, int64_t down,
                      int64_t right) {
  std::vector<T> result(X.size());
  for (int64_t row = 0; row < rows && cols > 0; ++row) {
    const auto from = X.begin() + (row + down) % rows * cols;
    std::rotate_copy(from, from + right % cols, from + cols, result.begin() + row * cols);
  }
  return result;
}

/// Puts X (rows, cols) to a matrix whose rows are ld elements apart, transposed or as it is.
void put(bf16* to, const std::vector<bf16>& X, int64_t rows, int64_t cols, int64_t ld,
         bool transposed) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      to[transposed ? col * ld + row : row * ld + col] = X[row * cols + col];
}

const bf16 NOT_A_NUMBER(NAN);

}  // namespace

Usage with_product(Usage own) {
  own.sizes = {{"--m", {.gpu = 4096, .cpu = 256}, "rows of A and C"},
               {"--n", {.gpu = 4096, .cpu = 200}, "columns of B and C"},
               {"--k", {.gpu = 4096, .cpu = 160}, "columns of A, rows of B"}};
  own.flags = {{"--bf16-out", false, "C in bf16, too; else it is fp32"}};
  own.inputs = {{"a", {"--m", "--k"}, "the left matrix, rounded to bf16"},
                {"b", {"--k", "--n"}, "the right matrix, rounded to bf16"}};
  return own;
}

Usage with_layouts(Usage own) {
  own.sizes.push_back({"--batch", {.gpu = 1, .cpu = 1}, "products, each of matrices of its own"});
  own.sizes.push_back({"--gap", {.gpu = 0, .cpu = 0}, "elements between rows of A, and of B"});
  own.texts = {{"--layout", "nn", "nn: A·B; nt: A·Bᵀ, where B lies as N×K"}};
  return own;
}

ProductOptions product_options_of(const Options& options) {
  return {.product = {.M = options.size("--m"), .N = options.size("--n"), .K = options.size("--k")},
          .is_c_bf16 = options.flag("--bf16-out")};
}

ProductOptions layout_options_of(const Options& options) {
  ProductOptions result = product_options_of(options);
  Bf16Product& product = result.product;
  const std::string& layout = options.text("--layout");
  if (layout != "nn" && layout != "nt")
    throw Error("--layout is nn or nt, and not \"" + layout + "\"");
  product.b_transposed = layout == "nt";
  product.batch = options.size("--batch");
  if (const int64_t gap = options.size("--gap"); gap > 0) {
    product.lda = product.K + gap;
    product.ldb = (product.b_transposed ? product.K : product.N) + gap;
  }
  return result;
}

std::vector<bf16> laid_out_a(const Bf16Product& product, const std::vector<bf16>& A) {
  const Bf16Product p = spelled_out(product);
  std::vector<bf16> all(p.batch * p.stride_a, NOT_A_NUMBER);
  for (int64_t i = 0; i < p.batch; ++i)
    put(all.data() + i * p.stride_a, turned(A, p.M, p.K, i, 0), p.M, p.K, p.lda, false);
  return all;
}
std::vector<bf16> laid_out_b(const Bf16Product& product, const std::vector<bf16>& B) {
  const Bf16Product p = spelled_out(product);
  std::vector<bf16> all(p.batch * p.stride_b, NOT_A_NUMBER);
  for (int64_t i = 0; i < p.batch; ++i)
    put(all.data() + i * p.stride_b, turned(B, p.K, p.N, 0, i), p.K, p.N, p.ldb, p.b_transposed);
  return all;
}

void announce(Table& table, const ProductOptions& options) {
  const auto& [product, is_c_bf16] = options;
  const Bf16Product p = spelled_out(product);
  const int64_t M = p.M, N = p.N, K = p.K;
  const double m = M, n = N, k = K, count = p.batch, bytes_of_c = is_c_bf16 ? 2 : 4;
  // A and B in bf16, which begin at aligned addresses, and the workspace
  const double with_gaps = 2 * count * static_cast<double>(p.stride_a + p.stride_b);
  const double scratch = with_gaps + workspace_bytes(product, nullptr, nullptr);
  const std::string b = p.b_transposed ? shape_text({N, K}) + "]ᵀ" : shape_text({K, N}) + "]";
  const std::string times = p.batch == 1 ? "" : std::to_string(p.batch) + " times ";
  std::string formula =
      "A[" + shape_text({M, K}) + "] · B[" + b + (p.lda == K ? "" : ", with gaps");
  if (p.bias != nullptr) formula += " + bias";
  if (p.act == Activation::gelu) formula = "gelu(" + formula + ")";
  std::vector<int64_t> shape = {M, N};
  if (p.batch != 1) shape.insert(shape.begin(), p.batch);
  table.problem(times + "C[" + shape_text({M, N}) + "] = " + formula + ", bf16 in, " +
                    (is_c_bf16 ? "bf16" : "fp32") + " out",
                {.flop = 2 * count * m * n * k,
                 .bytes = count * (2 * (m * k + k * n) + bytes_of_c * m * n),
                 .arithmetic = Arithmetic::bf16},
                shape, scratch);
  table.say("A and B are rounded to bf16, to nearest even, and added up in fp32" +
            std::string(is_c_bf16 ? "; C is rounded to bf16" : ""));
}

std::function<Comparison(const Launched&)> check_of(const ProductOptions& options,
                                                    const std::vector<bf16>& narrow_a,
                                                    const std::vector<bf16>& narrow_b,
                                                    uint64_t seed,
                                                    const std::function<Expected(Expected)>& then) {
  const int64_t M = options.product.M, N = options.product.N, K = options.product.K;
  const int64_t count = options.product.batch;
  const bool is_c_bf16 = options.is_c_bf16;
  const bool is_small = static_cast<double>(count) * M * N * K <= affordable(2e8);
  const std::vector<float> A = widened<bf16>(narrow_a), B = widened<bf16>(narrow_b);
  // Rows of C, in all products; those of one of them.
  const std::vector<int64_t> rows = sample_rows(count * M,
                                                is_small ? count * M
                                                : then   ? 64
                                                         : 16,
                                                seed);
  Expected want;
  for (size_t first = 0, end = 0; first < rows.size(); first = end) {
    const int64_t number = rows[first] / M;
    std::vector<int64_t> own;
    do own.push_back((rows[end] + number) % M);
    while (++end < rows.size() && rows[end] / M == number);
    const Expected some = reference(A, turned(B, K, N, 0, number), N, K, own);
    want.value.insert(want.value.end(), some.value.begin(), some.value.end());
    want.bound.insert(want.bound.end(), some.bound.begin(), some.bound.end());
  }
  if (then) want = then(std::move(want));
  if (is_c_bf16) want = in_bf16(std::move(want));
  // The bounds of reference.cpp as multiples of a fp32 sum's; |C| is at most Σ|a||b|.
  const double factor = (gamma_bound(3 * K + 4) + (is_c_bf16 ? 0x1.02p-8 : 0)) / gamma_bound(K + 1);
  const bool rows_alone = is_small || then;
  return [=](const Launched& row) {
    Comparison some = compare_rows(row.output, want, rows, row.layout);
    if (!some.ok || rows_alone) return some;
    for (int64_t i = 0; i < count; ++i) {
      Layout one = row.layout;
      one.batch = 1;
      const Comparison sums =
          freivalds(turned(A, M, K, i, 0), turned(B, K, N, 0, i),
                    std::span(row.output).subspan(i * M * N, M * N), M, N, K, seed, one, factor);
      if (!sums.ok) return sums;
    }
    return some;
  };
}

namespace {

Row row_of(const ProductOptions& options, const std::string& name,
           const std::function<void(Output)>& launch) {
  if (options.is_c_bf16) return {.name = name, .launch_bf16 = [=](bf16* C) { launch(Output(C)); }};
  return {.name = name, .launch = [=](float* C) { launch(Output(C)); }};
}

}  // namespace

Launched launch_beside(Table& table, const ProductOptions& options, const std::string& name,
                       const std::function<void(Output)>& launch) {
  return table.launch(row_of(options, name, launch));
}
Launched launch_vendor(Table& table, const ProductOptions& options, const std::string& name,
                       const std::function<void(Output)>& launch) {
  return table.launch_vendor(row_of(options, name, launch));
}
Launched launch_cublas(Table& table, const ProductOptions& options, const bf16* A, const bf16* B,
                       const std::function<void(Output)>& then) {
  static const CublasHandle handle;  // what is launched here is timed later
  const Bf16Product p = spelled_out(options.product);
  const Bf16Matrices matrices = {.A = A,
                                 .B = B,
                                 .lda = p.lda,
                                 .ldb = p.ldb,
                                 .ldc = p.ldc,
                                 .stride_a = p.stride_a,
                                 .stride_b = p.stride_b,
                                 .stride_c = p.stride_c};
  const Transpose transpose = p.b_transposed ? Transpose::b : Transpose::none;
  const auto multiply = [=](auto* to) {
    row_major_gemm_batched(handle, p.batch, p.M, p.N, p.K, matrices, to, transpose);
  };
  return launch_vendor(table, options, "cuBLAS", [=](Output C) {
    std::visit(multiply, C);
    if (then) then(C);
  });
}

}  // namespace tutorial::tiled_matmul::tensor_cores
