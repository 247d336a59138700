#include "hopper/launch.hpp"

namespace tutorial::tiled_matmul::hopper {

std::map<std::string, int64_t> symbols_of(const Bf16Product& product, const bf16* A, const bf16* B,
                                          Output C) {
  auto symbols = tensor_cores::symbols_of(product, A, B, C);
  if (!tma_takes(product, A, B, C)) return symbols;
  symbols["BN"] =
      columns_of_tile(product.M, product.N, device_attribute(cudaDevAttrMultiProcessorCount));
  symbols["ROWS"] = symbols["BN"] == 64 ? 128 : 256;
  return symbols;
}

}  // namespace tutorial::tiled_matmul::hopper
