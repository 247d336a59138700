#include "tensor_cores/operands.hpp"

#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "tensor_cores/bf16_rows.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

constexpr int THREADS = 256;  // for a row

/// A matrix (rows, cols) to copy into rows that begin ld elements apart.
struct Padding {
  const bf16* from;
  bf16* to;
  int64_t rows, cols, ld;

  int64_t size() const { return rows * ld; }  // of the copy
};
__global__ void pad_rows(Padding a, Padding b) {
  for (int64_t block = blockIdx.x; block < a.rows + b.rows; block += gridDim.x) {
    const Padding x = block < a.rows ? a : b;
    const int64_t row = block < a.rows ? block : block - a.rows;
    for (int64_t col = threadIdx.x; col < x.ld; col += blockDim.x)
      x.to[row * x.ld + col] = col < x.cols ? x.from[row * x.cols + col] : bf16(0.0f);
  }
}
constexpr int64_t MAX_ROWS_AT_ONCE = 4096;  // more blocks than a GPU runs at once

/// How X is to be copied, to a place that is not known yet. No row is, where rows are aligned.
Padding padding_of(const bf16* X, int64_t rows, int64_t cols) {
  return {.from = X,
          .to = nullptr,
          .rows = rows_are_aligned(X, cols) ? 0 : rows,
          .cols = cols,
          .ld = ceil_div(cols, CHUNK) * CHUNK};
}

}  // namespace

// Measured on an H200: products of rows with 2, 4 and 8 aligned bytes run at 0.17, 0.42 and 0.57 of
// the rate of aligned ones. An element that is copied must be used so often that this is worth it.
bool copies_pay(const Bf16Product& product, const bf16* A, const bf16* B) {
  const int width = std::min(copy_width(A, product.K), copy_width(B, product.N));
  return width < CHUNK && std::min(product.M, product.N) >= 128 * width && product.K > 0;
}

int64_t workspace_bytes(const Bf16Product& product, const bf16* A, const bf16* B) {
  if (!copies_pay(product, A, B)) return 0;
  return Workspace::bytes_of<bf16>(padding_of(A, product.M, product.K).size()) +
         Workspace::bytes_of<bf16>(padding_of(B, product.K, product.N).size());
}

bool are_copied(const Bf16Product& product, const bf16* A, const bf16* B, Workspace workspace) {
  return copies_pay(product, A, B) && workspace.bytes >= workspace_bytes(product, A, B);
}

Operands aligned_operands(const Bf16Product& product, const bf16* A, const bf16* B,
                          Workspace workspace, cudaStream_t stream) {
  if (!are_copied(product, A, B, workspace))
    return {.A = A, .B = B, .lda = product.K, .ldb = product.N};
  Padding a = padding_of(A, product.M, product.K), b = padding_of(B, product.K, product.N);
  a.to = workspace.take<bf16>(a.size()), b.to = workspace.take<bf16>(b.size());
  pad_rows<<<std::min(a.rows + b.rows, MAX_ROWS_AT_ONCE), THREADS, 0, stream>>>(a, b);
  CUDA_CHECK_LAUNCH();
  return {.A = a.rows > 0 ? a.to : A, .B = b.rows > 0 ? b.to : B, .lda = a.ld, .ldb = b.ld};
}

}  // namespace tutorial::tiled_matmul::tensor_cores
