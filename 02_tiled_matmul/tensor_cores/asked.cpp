// What steps 13 to 16 ask global memory for: they may copy A and B before.
#include "common/kernel/shared_memory.hpp"
#include "tensor_cores/bf16_rows.hpp"
#include "tensor_cores/operands.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

/// In tiles of BM × BN, from A and B as they are or from copies of what is not aligned.
template <int BM, int BN>
std::vector<Asked> by_padded_tiles(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                   Workspace workspace) {
  const bool copied = are_copied(s, A, B, workspace);
  const int64_t E = bytes_of_element(C);
  const int64_t LDA = copied ? ceil_div(s.K, CHUNK) * CHUNK : s.K;  // elements from row to row
  const int64_t LDB = copied ? ceil_div(s.N, CHUNK) * CHUNK : s.N;
  const int64_t PA = rows_are_aligned(A, s.K) ? 0 : 1, PB = rows_are_aligned(B, s.N) ? 0 : 1;
  return {{.loads = 2 * (s.M * LDA * ceil_div(s.N, BN) + s.K * LDB * ceil_div(s.M, BM)),
           .stores = E * s.M * s.N},
          {.kernel = "pad_rows",
           .loads = 2 * s.K * (PA * s.M + PB * s.N),
           .stores = 2 * (PA * s.M * LDA + PB * s.K * LDB)}};
}

/// In tiles of BM × BN, from A and B as they are, for each of P products.
template <int BM, int BN>
std::vector<Asked> by_layouts(const Bf16Product& s, Output C) {
  const int64_t E = bytes_of_element(C), P = s.batch;
  return {{.loads = 2 * P * s.K * (s.M * ceil_div(s.N, BN) + s.N * ceil_div(s.M, BM)),
           .stores = E * P * s.M * s.N}};
}

}  // namespace

std::vector<Asked> padded_rows_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                    Workspace workspace, cudaStream_t) {
  return by_padded_tiles<128, 256>(s, A, B, C, workspace);
}

std::vector<Asked> small_tiles_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                    Workspace workspace, cudaStream_t) {
  return large_tiles_are_few(s.M, s.N, multiprocessors())
             ? by_padded_tiles<64, 128>(s, A, B, C, workspace)
             : by_padded_tiles<128, 256>(s, A, B, C, workspace);
}

std::vector<Asked> by_shape_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t) {
  return takes_small_tiles(s.M, s.N, multiprocessors(), shared_memory_limit())
             ? by_padded_tiles<64, 128>(s, A, B, C, workspace)
             : by_padded_tiles<128, 256>(s, A, B, C, workspace);
}

std::vector<Asked> layouts_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                Workspace workspace, cudaStream_t stream) {
  if (is_plain(s) && copies_pay(s, A, B)) return by_shape_asks(s, A, B, C, workspace, stream);
  return takes_small_tiles(s.M, s.N, multiprocessors(), shared_memory_limit(), s.batch)
             ? by_layouts<64, 128>(s, C)
             : by_layouts<128, 256>(s, C);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
