// Beside step 12: the product, and then a kernel of its own for the epilogue, which reads C and
// writes it again.
#include <algorithm>
#include <string>

#include "hopper/epilogue.cuh"
#include "hopper/launch.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int THREADS = 256;  // for a row of C

template <class Out>
__global__ void finish_rows(Epilogue<Out> epilogue, Out* C, int64_t rows, bool in_pairs) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Out* const to = C + row / epilogue.M * epilogue.stride_c + row % epilogue.M * epilogue.ldc;
    for (int col = 2 * threadIdx.x; col < epilogue.N; col += 2 * THREADS) {
      const bool has_second = col + 1 < epilogue.N;
      float x[2] = {};
      if (in_pairs && has_second) {
        const float2 pair = load_pair(to + col);
        x[0] = pair.x, x[1] = pair.y;
      } else {
        x[0] = static_cast<float>(to[col]);
        if (has_second) x[1] = static_cast<float>(to[col + 1]);
      }
      epilogue.apply(x, 0, 0, col);
      if (in_pairs && has_second) {
        store_pair(to + col, x[0], x[1]);
      } else {
        to[col] = static_cast<Out>(x[0]);
        if (has_second) to[col + 1] = static_cast<Out>(x[1]);
      }
    }
  }
}
constexpr int64_t MAX_ROWS_AT_ONCE = 4096;  // more blocks than a GPU runs at once

}  // namespace

void finish(const Bf16Product& product, Output C, cudaStream_t stream) {
  if (product.beta != 0)
    throw Error(
        "an epilogue with a beta needs C as it was before the product: take step epilogue, with A, "
        "B and C as TMA takes them");
  const Bf16Product p = spelled_out(product);
  const int64_t rows = p.batch * p.M;
  if (rows * p.N == 0 || !tensor_cores::has_epilogue(p)) return;
  std::visit(
      [&]<class Out>(Out* to) {
        const int64_t pair = 2 * sizeof(Out);
        const bool in_pairs =
            reinterpret_cast<uintptr_t>(to) % pair == 0 && p.ldc % 2 == 0 && p.stride_c % 2 == 0;
        finish_rows<<<std::min(rows, MAX_ROWS_AT_ONCE), THREADS, 0, stream>>>(
            epilogue_of<Out>(p, nullptr), to, rows, in_pairs);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

void two_kernels(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                 Workspace workspace, cudaStream_t stream) {
  Bf16Product sums = product;
  sums.alpha = 1, sums.beta = 0, sums.bias = nullptr, sums.act = Activation::none;
  if (product.beta == 0) hopper::layouts(sums, A, B, C, workspace, stream);
  finish(product, C, stream);
}

}  // namespace tutorial::tiled_matmul::hopper
