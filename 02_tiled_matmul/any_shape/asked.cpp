// What the steps ask global memory for: by their own kernels, and by those of the steps that they
// may hand the product to.
#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "any_shape/plan.hpp"

namespace tutorial::tiled_matmul::any_shape {
namespace {

Asked scaled(const Asked& plain, const ScaledProduct& s) {
  return faster::scaled(plain, s.M, s.N, s.alpha, s.beta);
}

/// Of step 2's copy of B.
Asked of_copy(const ScaledProduct& s) {
  return {.kernel = "pad_rows", .loads = 4 * s.K * s.N, .stores = 16 * s.K * ceil_div(s.N, 4)};
}

/// Of step 3's sum of S parts.
Asked of_sum(const ScaledProduct& s, int64_t S) {
  Asked asked = {.kernel = "add_parts_kernel",
                 .loads = 16 * S * s.M * ceil_div(s.N, 4),
                 .stores = 4 * s.M * s.N};
  if (s.beta != 0) asked.loads += 4 * s.M * s.N;
  return asked;
}

}  // namespace

std::vector<Asked> tile_by_size_asks(const ScaledProduct& s, const float*, const float*, float*,
                                     Workspace, cudaStream_t) {
  return {scaled({.kernel = "tile_by_size_large",
                  .loads = 1536 * s.K * ceil_div(s.M, 128) * ceil_div(s.N, 256),
                  .stores = 4 * s.M * s.N},
                 s),
          scaled({.kernel = "tile_by_size_small",
                  .loads = 768 * s.K * ceil_div(s.M, 64) * ceil_div(s.N, 128),
                  .stores = 4 * s.M * s.N},
                 s)};
}

std::vector<Asked> padded_rows_asks(const ScaledProduct& s, const float* A, const float* B,
                                    float* C, Workspace workspace, cudaStream_t stream) {
  std::vector<Asked> asked = tile_by_size_asks(s, A, B, C, workspace, stream);
  asked.push_back(of_copy(s));
  return asked;
}

std::vector<Asked> split_k_asks(const ScaledProduct& s, const float* A, const float* B, float* C,
                                Workspace workspace, cudaStream_t stream) {
  const int64_t S = parts_of_k(s.M, s.N, depth_of(s), multiprocessors());
  std::vector<Asked> asked = padded_rows_asks(s, A, B, C, workspace, stream);
  asked.push_back({.kernel = "split_k_kernel",
                   .loads = 768 * s.K * ceil_div(s.M, 64) * ceil_div(s.N, 128),
                   .stores = 16 * S * s.M * ceil_div(s.N, 4)});
  asked.push_back(of_sum(s, S));
  return asked;
}

std::vector<Asked> thin_tiles_asks(const ScaledProduct& s, const float* A, const float* B, float* C,
                                   Workspace workspace, cudaStream_t stream) {
  if (s.M == 0 || s.N == 0) return {};
  const Plan plan = plan_of(s, B);
  const int64_t BM = tiles[plan.tile].BM, BN = tiles[plan.tile].BN, S = plan.parts;
  const int64_t LDC = S == 1 ? s.N : aligned_ld(s.N);
  const Asked plain = {.kernel = "thin_tiles_kernel",
                       .loads = 4 * s.K * (BM + BN) * ceil_div(s.M, BM) * ceil_div(s.N, BN),
                       .stores = 4 * s.M * LDC * S};
  std::vector<Asked> asked = padded_rows_asks(s, A, B, C, workspace, stream);
  asked.push_back(S == 1 ? scaled(plain, s) : plain);
  asked.push_back(of_sum(s, S));
  return asked;
}

std::vector<Asked> few_rows_asks(const ScaledProduct& s, const float* A, const float* B, float* C,
                                 Workspace workspace, cudaStream_t stream) {
  if (!are_few_rows(s, B)) return thin_tiles_asks(s, A, B, C, workspace, stream);
  int64_t S = parts_of_few_rows(s.N, depth_of(s), multiprocessors());
  if (S > 1 && workspace.take<float>(floats_of_parts(s, S)) == nullptr) S = 1;
  const int64_t LDC = S == 1 ? s.N : aligned_ld(s.N);
  const Asked plain = {.kernel = "few_rows_kernel",
                       .loads = 4 * s.K * s.N + 4 * s.M * s.K * ceil_div(s.N, 32),
                       .stores = 4 * s.M * LDC * S};
  return {S == 1 ? scaled(plain, s) : plain, of_sum(s, S)};
}

std::vector<Asked> few_columns_asks(const ScaledProduct& s, const float* A, const float* B,
                                    float* C, Workspace workspace, cudaStream_t stream) {
  if (!are_few_columns(s.M, s.N, depth_of(s))) return few_rows_asks(s, A, B, C, workspace, stream);
  if (s.M == 0 || s.N == 0) return {};
  const int64_t R = rows_of_warp(s.M, depth_of(s), multiprocessors()).rows;
  return {scaled({.kernel = "few_columns_kernel",
                  .loads = 4 * s.M * s.K + 4 * s.K * s.N * ceil_div(s.M, R),
                  .stores = 4 * s.M * s.N},
                 s)};
}

std::vector<Asked> short_k_asks(const ScaledProduct& s, const float* A, const float* B, float* C,
                                Workspace workspace, cudaStream_t stream) {
  const int64_t K = depth_of(s);
  if (are_few_columns(s.M, s.N, K) || !is_short_k(s.M, s.N, K))
    return few_columns_asks(s, A, B, C, workspace, stream);
  return {scaled({.kernel = "short_k_kernel",
                  .loads = 4 * s.K * (s.M * ceil_div(s.N, 64) + s.N * ceil_div(s.M, 64)),
                  .stores = 4 * s.M * s.N},
                 s)};
}

}  // namespace tutorial::tiled_matmul::any_shape
