// Copies with aligned rows, maps, and what is refused.
//
// asked for by copy_rows  loads (M + N)·K bytes, stores (M + N)·K bytes
#include "fp8/launch.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "hopper/launch.hpp"

namespace tutorial::tiled_matmul::fp8 {
namespace {

/// Sizes are ints to a kernel, and a tile further is one, too.
constexpr int64_t MOST = std::numeric_limits<int32_t>::max() - 512;

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}
bool tma_takes(const Fp8Product& product, const e4m3* A, const e4m3* B) {
  return product.K % 16 == 0 && is_aligned(A) && is_aligned(B);
}
int64_t padded(int64_t K) {
  return ceil_div(K, 16) * 16;
}

/// Do rows of C begin at multiples of 16 bytes?
bool stores_by_tma(const Fp8Product& product, const bf16* C) {
  return product.N % 8 == 0 && is_aligned(C);
}

/// A block copies a row after another. What a row has more of is not written: no map has it.
__global__ void copy_rows(const e4m3* from, int64_t rows, int64_t K, e4m3* to, int64_t pitch) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    for (int64_t k = threadIdx.x; k < K; k += blockDim.x) to[row * pitch + k] = from[row * K + k];
}

}  // namespace

int64_t workspace_bytes(const Fp8Product& product, const e4m3* A, const e4m3* B) {
  return tma_takes(product, A, B) ? 0 : (product.M + product.N) * padded(product.K);
}

Aligned for_tma(const char* step, const Fp8Product& product, const e4m3* A, const e4m3* B,
                Workspace workspace, cudaStream_t stream) {
  hopper::require_sm_90a(step);
  const int64_t M = product.M, N = product.N, K = product.K;
  for (const int64_t size : {M, N, K})
    if (size >= MOST)
      throw Error(std::string(step) + " counts rows and columns in 32 bits, and there are " +
                  std::to_string(size) + "; take smaller sizes");
  if (std::min({M, N, K}) == 0 || tma_takes(product, A, B)) return {A, B, K};
  require_workspace(workspace, workspace_bytes(product, A, B), step);
  const int64_t pitch = padded(K);
  e4m3* const a = workspace.take<e4m3>(M * pitch);
  e4m3* const b = workspace.take<e4m3>(N * pitch);
  const auto copy = [&](const e4m3* from, int64_t rows, e4m3* to) {
    const int64_t blocks = std::min<int64_t>(rows, 16 * multiprocessors());
    copy_rows<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(from, rows, K, to, pitch);
    CUDA_CHECK_LAUNCH();
  };
  copy(A, M, a);
  copy(B, N, b);
  return {a, b, pitch};
}

bool is_done_without(const Fp8Product& product, bf16* C, cudaStream_t stream) {
  if (product.M * product.N > 0 && product.K > 0) return false;
  CUDA_CHECK(cudaMemsetAsync(C, 0, product.M * product.N * sizeof(bf16), stream));
  return true;
}

CUtensorMap map_of(const e4m3* X, int64_t rows, int64_t K, int64_t pitch, int box_rows) {
  const auto size = [](int64_t number) { return static_cast<uint64_t>(number); };
  return tensor_map(X, {size(K), size(rows)}, {size(pitch)},
                    {SCALED, static_cast<uint32_t>(box_rows)});
}

CUtensorMap map_of_c(const Fp8Product& product, const bf16* C, const CUtensorMap& instead) {
  return stores_by_tma(product, C) ? hopper::map_of(C, product.M, product.N, 16, 64) : instead;
}

Problem problem_of(const Fp8Product& product, Scales scales, bf16* C) {
  const auto number = [](int64_t size) { return static_cast<int>(size); };
  return {scales,
          C,
          number(product.M),
          number(product.N),
          number(product.K),
          stores_by_tma(product, C)};
}

unsigned blocks_of(const Fp8Product& product, int BN) {
  const int64_t tiles = ceil_div(product.M, 256) * ceil_div(product.N, BN);
  return static_cast<unsigned>(2 * std::min<int64_t>(tiles, multiprocessors() / 2));
}

}  // namespace tutorial::tiled_matmul::fp8
