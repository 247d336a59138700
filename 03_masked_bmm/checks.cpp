#include "checks.hpp"

#include <algorithm>
#include <bit>

#include "common/data/random.hpp"

namespace tutorial::masked_bmm {
namespace {

constexpr double AFFORDABLE_PRODUCTS = 1e9;  // some seconds of the reference
constexpr int64_t FEWEST_ROWS = 64;

std::vector<float> entries_of(std::span<const Kept> mask) {
  const auto poison = Kept{0xff};  // what global memory holds until something is written
  std::vector<float> entries;
  for (const Kept kept : mask)
    entries.push_back(kept == poison ? std::bit_cast<float>(~0u) : static_cast<float>(kept));
  return entries;
}

Comparison compare_coarse_mask(std::span<const float> got, std::span<const Kept> want,
                               const Layout& layout) {
  Expected expected;
  for (const Kept kept : want) expected.value.push_back(static_cast<double>(kept));
  expected.bound.resize(want.size());  // exact
  return compare(got, expected, layout);
}

}  // namespace

Comparison check_product(const MaskedBmm& p, const Mask& mask, std::span<const float> A,
                         std::span<const float> B, std::span<const float> got,
                         const Layout& layout) {
  const int64_t rows = p.batch * p.M;
  const auto products = static_cast<int64_t>(affordable(AFFORDABLE_PRODUCTS));
  const int64_t count = std::max(products / (p.N * (p.K + 1)), FEWEST_ROWS);
  if (rows <= count) return compare(got, masked_bmm_reference(p, mask, A, B), layout);
  const std::vector<int64_t> some = sample_rows(rows, count, 1);
  return compare_rows(got, masked_bmm_reference(p, mask, A, B, some), some, layout);
}

Comparison check_coarse_masks(const MaskedBmm& p, const Mask& mask, const DeviceMasks& device,
                              const Seen& seen) {
  const auto check = [&](const char* name, const std::vector<Kept>& got, int tile) {
    return compare_coarse_mask(seen(entries_of(got)), coarse_mask_reference(mask, p.M, p.N, tile),
                               {.name = name,
                                .batch = p.masks(),
                                .rows = ceil_div(p.M, tile),
                                .cols = ceil_div(p.N, tile),
                                .tile = {.rows = BLOCK / tile, .cols = BLOCK / tile}});
  };
  const Comparison blocks = check("block_mask", device.block_mask.to_host(), BLOCK);
  return blocks.ok ? check("thread_mask", device.thread_mask.to_host(), PATCH) : blocks;
}

}  // namespace tutorial::masked_bmm
