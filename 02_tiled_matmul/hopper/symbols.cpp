#include "hopper/launch.hpp"

namespace tutorial::tiled_matmul::hopper {

std::map<std::string, int64_t> symbols_of(const bf16* A, const bf16* B, Output C, int64_t M,
                                          int64_t N, int64_t K) {
  auto symbols = tensor_cores::symbols_of(A, B, C, M, N, K);
  if (!tma_takes(A, B, C, M, N, K)) return symbols;
  symbols["BN"] = columns_of_tile(M, N, device_attribute(cudaDevAttrMultiProcessorCount));
  symbols["ROWS"] = symbols["BN"] == 64 ? 128 : 256;
  return symbols;
}

}  // namespace tutorial::tiled_matmul::hopper
