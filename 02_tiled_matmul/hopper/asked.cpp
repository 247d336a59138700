// What steps 9 to 12 ask global memory for: they choose their tiles; and what TMA takes of step
// 11's layouts.
#include "common/kernel/shared_memory.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

/// In tiles of ROWS × BN elements of C, for each of P products.
template <int ROWS, int BN>
std::vector<Asked> by_layouts(const Bf16Product& s, Output C) {
  const int64_t E = tensor_cores::bytes_of_element(C), P = s.batch;
  return {{.loads = 2 * P * s.K * (s.M * ceil_div(s.N, BN) + s.N * ceil_div(s.M, ROWS)),
           .stores = E * P * s.M * s.N}};
}

}  // namespace

// A map has no extents of 0, and no distances but multiples of 16 bytes, below 2^40. And TMA stores
// whole 16 bytes: where a row of C ends within some, the gap behind it would be written.
bool tma_takes_layout(const Bf16Product& product, const bf16* A, const bf16* B, Output C) {
  const Bf16Product& p = product;
  const auto takes = [](const auto* X, int64_t ld, int64_t stride, int64_t stored = 0) {
    constexpr int64_t WIDTH = 16 / sizeof(*X);
    return stored % WIDTH == 0 && reinterpret_cast<uintptr_t>(X) % 16 == 0 && ld % WIDTH == 0 &&
           stride % WIDTH == 0 && std::max(ld, stride) < (int64_t{1} << 40) / 4;
  };
  return std::min({p.M, p.N, p.K, p.batch}) > 0 && std::max({p.M, p.N, p.K, p.batch}) < MOST &&
         takes(A, p.lda, p.stride_a) && takes(B, p.ldb, p.stride_b) &&
         std::visit([&](const auto* to) { return takes(to, p.ldc, p.stride_c, p.N); }, C);
}

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

std::vector<Asked> layouts_asks(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                                Workspace workspace, cudaStream_t stream) {
  const Bf16Product s = spelled_out(product);
  if (!tma_takes_layout(s, A, B, C))
    return tensor_cores::layouts_asks(product, A, B, C, workspace, stream);
  switch (columns_of_tile(s.M, s.N, multiprocessors(), s.batch)) {
    case 256:
      return by_layouts<256, 256>(s, C);
    case 192:
      return by_layouts<256, 192>(s, C);
    case 128:
      return by_layouts<256, 128>(s, C);
    default:
      return by_layouts<128, 64>(s, C);
  }
}

// Each of the 8 lanes that have the same two columns of a warp's 16 rows asks for their bias; and
// of the kernel finish_rows each thread for its own.
std::vector<Asked> epilogue_asks(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  const Bf16Product s = spelled_out(product);
  std::vector<Asked> asks = hopper::layouts_asks(product, A, B, C, workspace, stream);
  const int64_t of_c = asks[0].stores, with_bias = s.bias == nullptr ? 0 : 1;
  if (!tma_takes_layout(s, A, B, C)) {
    asks.push_back({.kernel = "finish_rows",
                    .loads = of_c + 4 * with_bias * s.batch * s.M * s.N,
                    .stores = of_c});
    return asks;
  }
  const bool narrow = columns_of_tile(s.M, s.N, multiprocessors(), s.batch) == 64;
  const int64_t rows = narrow ? 128 * ceil_div(s.M, 128) : 256 * ceil_div(s.M, 256);
  asks[0].loads += 2 * with_bias * s.batch * s.N * rows + (s.beta == 0 ? 0 : of_c);
  return asks;
}

}  // namespace tutorial::tiled_matmul::hopper
