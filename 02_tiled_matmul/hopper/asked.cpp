// What steps 9 and 10 ask global memory for: they choose their tiles.
#include "common/kernel/shared_memory.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::hopper {

std::vector<Asked> narrow_tiles_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                     Workspace workspace, cudaStream_t stream) {
  if (wide_tiles_are_enough(s.M, s.N, multiprocessors()))
    return by_tma_tiles<256, 256>(s, A, B, C, workspace, stream);
  return by_tma_tiles<128, 64>(s, A, B, C, workspace, stream);
}

std::vector<Asked> by_shape_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  switch (columns_of_tile(s.M, s.N, multiprocessors())) {
    case 256:
      return by_tma_tiles<256, 256>(s, A, B, C, workspace, stream);
    case 192:
      return by_tma_tiles<256, 192>(s, A, B, C, workspace, stream);
    case 128:
      return by_tma_tiles<256, 128>(s, A, B, C, workspace, stream);
    default:
      return by_tma_tiles<128, 64>(s, A, B, C, workspace, stream);
  }
}

}  // namespace tutorial::tiled_matmul::hopper
