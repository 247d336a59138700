#include "tensor_cores/launch_checks.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

std::map<std::string, int64_t> symbols_of(Output C, int64_t M, int64_t N, int64_t K) {
  const int64_t bytes = std::holds_alternative<float*>(C) ? sizeof(float) : sizeof(bf16);
  const bool small = takes_small_tiles(M, N, device_attribute(cudaDevAttrMultiProcessorCount));
  return {{"M", M},
          {"N", N},
          {"K", K},
          {"E", bytes},
          {"BM", small ? 64 : 128},
          {"BN", small ? 128 : 256}};
}

}  // namespace tutorial::tiled_matmul::tensor_cores
