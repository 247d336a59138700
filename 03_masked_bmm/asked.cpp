// What the steps ask global memory for. How much a mask leaves only the mask says: so it is
// fetched.
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/check.hpp"
#include "skipped.hpp"

namespace tutorial::masked_bmm {
namespace {

Mask fetched_mask(const MaskedBmm& p) {
  const int64_t size = p.masks() * p.M * p.N;
  Mask mask = {.keep = std::vector<uint8_t>(size), .per_batch = p.mask_per_batch};
  CUDA_CHECK(cudaMemcpy(mask.keep.data(), p.mask, size, cudaMemcpyDeviceToHost));
  return mask;
}

}  // namespace

std::vector<Asked> bmm_then_fill_asks(const MaskedBmm& p, const float*, const float*, float*) {
  const int64_t B = p.batch, M = p.M, N = p.N, K = p.K;
  const int64_t times = p.mask_per_batch ? 1 : B;
  const int64_t masked = times * std::ranges::count(fetched_mask(p).keep, 0);
  return {{.kernel = "batched_product",
           .loads = 4 * B * K * (M * ceil_div(N, 128) + N * ceil_div(M, 128)),
           .stores = 4 * B * M * N},
          {.kernel = "fill_masked", .loads = B * M * N, .stores = 4 * masked}};
}

std::vector<Asked> by_live_blocks(const MaskedBmm& p, const float*, const float*, float*) {
  const int64_t B = p.batch, M = p.M, N = p.N, K = p.K;
  const auto [live, beyond_edges] = live_blocks(p, fetched_mask(p), BLOCK);
  Asked asked = {.loads = 1024 * K * live, .stores = 4 * B * M * N};
  asked.loads -= 4 * K * beyond_edges;
  return {asked};
}

std::vector<Asked> by_half_blocks(const MaskedBmm& p, const float*, const float*, float*) {
  const int64_t B = p.batch, M = p.M, N = p.N, K = p.K;
  const auto [live, beyond_edges] = live_blocks(p, fetched_mask(p), BLOCK / 2);
  Asked asked = {.loads = 1536 * K * live, .stores = 4 * B * M * N};
  asked.loads -= 4 * K * beyond_edges;
  return {asked};
}

std::vector<Asked> coarse_masks_ask(const MaskedBmm& p) {
  const int64_t masks = p.masks(), M = p.M, N = p.N;
  return {
      {.kernel = "coarse_masks",
       .loads = masks * M * N,
       .stores = masks * (ceil_div(M, 8) * ceil_div(N, 8) + ceil_div(M, 128) * ceil_div(N, 128))}};
}

}  // namespace tutorial::masked_bmm
