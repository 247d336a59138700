// What the steps ask global memory for.
#include "common/kernel/device.hpp"
#include "few_rows/parts.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

/// What a kernel stores in S parts, and what the second kernel does with them.
std::vector<Asked> in_parts(const Bf16Product& s, Output C, int64_t S, int64_t loads) {
  const int64_t E = tensor_cores::bytes_of_element(C), parts = 4 * S * s.M * s.N;
  if (S == 1) return {{.loads = loads, .stores = E * s.M * s.N}};
  return {{.loads = loads, .stores = parts},
          {.kernel = "add_parts_kernel", .loads = parts, .stores = E * s.M * s.N}};
}

std::vector<Asked> of_threads(const Bf16Product& s, Output C, int64_t S) {
  const int64_t ROWS = rows_of_threads(s.M);
  return in_parts(s, C, S, 2 * s.K * s.N * ceil_div(s.M, ROWS) + 2 * s.M * s.K * (s.N / 8));
}

std::vector<Asked> of_tiles(const Bf16Product& s, Output C, int64_t S, int64_t ROWS, int64_t BN) {
  return in_parts(s, C, S, 2 * s.K * (s.M * ceil_div(s.N, BN) + s.N * ceil_div(s.M, ROWS)));
}

}  // namespace

std::vector<Asked> straight_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  return of_threads(s, C, 1);
}

std::vector<Asked> split_k_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  int64_t S = parts_of_threads(s, multiprocessors());
  take_parts(s, S, workspace);
  return of_threads(s, C, S);
}

std::vector<Asked> transposed_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                   Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  int64_t S = parts_of_mma(s, multiprocessors());
  take_parts(s, S, workspace);
  return of_tiles(s, C, S, ROWS_OF_MMA, COLS_OF_MMA);
}

std::vector<Asked> clusters_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  return of_tiles(s, C, 1, ROWS_OF_MMA, COLS_OF_MMA);
}

std::vector<Asked> warpgroups_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                   Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  return of_tiles(s, C, 1, rows_of_warpgroup(s.M), COLS_OF_WARPGROUP);
}

std::vector<Asked> by_shape_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  const int capability = 10 * device_attribute(cudaDevAttrComputeCapabilityMajor) +
                         device_attribute(cudaDevAttrComputeCapabilityMinor);
  switch (way_of(s, hopper::tma_takes(s, A, B, C), capability, multiprocessors())) {
    case Way::transposed:
      return transposed_asks(s, A, B, C, workspace, stream);
    case Way::clusters:
      return clusters_asks(s, A, B, C, workspace, stream);
    case Way::warpgroups:
      return warpgroups_asks(s, A, B, C, workspace, stream);
    case Way::hopper:
      return hopper::by_shape_asks(s, A, B, C, workspace, stream);
    default:
      return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  }
}

}  // namespace tutorial::tiled_matmul::few_rows
