#include "common/kernel/grid.hpp"
#include "tensor_cores/bf16_rows.hpp"
#include "tensor_cores/launch_checks.hpp"
#include "tensor_cores/operands.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

std::map<std::string, int64_t> symbols_of(const Bf16Product& product, const bf16* A, const bf16* B,
                                          Output C) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const bool small = takes_small_tiles(M, N, device_attribute(cudaDevAttrMultiProcessorCount),
                                       shared_memory_limit());
  const bool pays = copies_pay(product, A, B);
  return {{"M", M},
          {"N", N},
          {"K", K},
          {"E", std::holds_alternative<float*>(C) ? sizeof(float) : sizeof(bf16)},
          {"PA", pays && !rows_are_aligned(A, K)},
          {"PB", pays && !rows_are_aligned(B, N)},
          {"LDA", pays ? ceil_div(K, CHUNK) * CHUNK : K},
          {"LDB", pays ? ceil_div(N, CHUNK) * CHUNK : N},
          {"BM", small ? 64 : 128},
          {"BN", small ? 128 : 256}};
}

}  // namespace tutorial::tiled_matmul::tensor_cores
