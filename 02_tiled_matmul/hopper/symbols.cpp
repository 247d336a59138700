#include "hopper/launch.hpp"

namespace tutorial::tiled_matmul::hopper {

std::map<std::string, int64_t> symbols_of(Output C, int64_t M, int64_t N, int64_t K) {
  auto symbols = tensor_cores::symbols_of(C, M, N, K);
  if (tma_takes(nullptr, nullptr, C, M, N, K)) {
    const int columns = columns_of_tile(M, N, device_attribute(cudaDevAttrMultiProcessorCount));
    symbols["BM"] = columns == 64 ? 128 : 256;
    symbols["BN"] = columns;
  }
  return symbols;
}

}  // namespace tutorial::tiled_matmul::hopper
