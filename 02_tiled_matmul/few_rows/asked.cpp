// What the steps ask global memory for.
#include "common/kernel/device.hpp"
#include "few_rows/parts.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

static_assert(ROWS_OF_MMA == 16 && COLS_OF_MMA == 128 && COLS_OF_WARPGROUP == 64 &&
              COLS_OF_LARGER == 128);

/// Of S parts' sum.
Asked of_sum(const Bf16Product& s, Output C, int64_t S) {
  const int64_t E = tensor_cores::bytes_of_element(C);
  return {.kernel = "add_parts_kernel", .loads = 4 * S * s.M * s.N, .stores = E * s.M * s.N};
}

}  // namespace

std::vector<Asked> straight_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  const int64_t E = tensor_cores::bytes_of_element(C), ROWS = rows_of_threads(s.M);
  return {{.loads = 2 * s.K * s.N * ceil_div(s.M, ROWS) + s.M * s.K * s.N / 4,
           .stores = E * s.M * s.N}};
}

std::vector<Asked> split_k_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  int64_t S = parts_of_threads(s, multiprocessors());
  take_parts(s, S, workspace);
  if (S == 1) return straight_asks(s, A, B, C, workspace, stream);
  const int64_t ROWS = rows_of_threads(s.M);
  return {{.kernel = "split_k_kernel",
           .loads = 2 * s.K * s.N * ceil_div(s.M, ROWS) + s.M * s.K * s.N / 4,
           .stores = 4 * S * s.M * s.N},
          of_sum(s, C, S)};
}

std::vector<Asked> transposed_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                   Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  int64_t S = parts_of_mma(s, multiprocessors());
  take_parts(s, S, workspace);
  if (S == 1) return clusters_asks(s, A, B, C, workspace, stream);
  return {{.kernel = "transposed_kernel",
           .loads = 2 * s.K * (s.M * ceil_div(s.N, 128) + s.N * ceil_div(s.M, 16)),
           .stores = 4 * S * s.M * s.N},
          of_sum(s, C, S)};
}

std::vector<Asked> clusters_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  const int64_t E = tensor_cores::bytes_of_element(C);
  return {{.loads = 2 * s.K * (s.M * ceil_div(s.N, 128) + s.N * ceil_div(s.M, 16)),
           .stores = E * s.M * s.N}};
}

std::vector<Asked> warpgroups_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                   Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  const int64_t E = tensor_cores::bytes_of_element(C), ROWS = rows_of_warpgroup(s.M);
  return {{.loads = 2 * s.K * (s.M * ceil_div(s.N, 64) + s.N * ceil_div(s.M, ROWS)),
           .stores = E * s.M * s.N}};
}

std::vector<Asked> larger_tiles_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                     Workspace workspace, cudaStream_t stream) {
  if (!hopper::tma_takes(s, A, B, C))
    return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  const int64_t E = tensor_cores::bytes_of_element(C);
  const int64_t R = larger_tiles_of(s, multiprocessors()).rows, S = ceil_div(s.M, R);
  // All boxes of A have R rows: the last one shares some with the one before.
  return {{.loads = 2 * s.K * (R * S * ceil_div(s.N, 128) + s.N * S), .stores = E * s.M * s.N}};
}

std::vector<Asked> by_shape_asks(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                 Workspace workspace, cudaStream_t stream) {
  switch (way_of(s, hopper::tma_takes(s, A, B, C), compute_capability(), multiprocessors())) {
    case Way::transposed:
      return transposed_asks(s, A, B, C, workspace, stream);
    case Way::clusters:
      return clusters_asks(s, A, B, C, workspace, stream);
    case Way::warpgroups:
      return warpgroups_asks(s, A, B, C, workspace, stream);
    case Way::larger_tiles:
      return larger_tiles_asks(s, A, B, C, workspace, stream);
    case Way::hopper:
      return hopper::by_shape_asks(s, A, B, C, workspace, stream);
    default:
      return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  }
}

}  // namespace tutorial::tiled_matmul::few_rows
