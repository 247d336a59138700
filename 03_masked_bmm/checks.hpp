// The program's checks: of the product, and of what is built from the mask.
#pragma once

#include <span>

#include "03_masked_bmm.hpp"
#include "device_masks.hpp"

namespace tutorial::masked_bmm {

/// A coarse mask against its reference, entry by entry: 0 is none, 1 some, 2 all.
Comparison compare_coarse_mask(std::span<const Kept> got, std::span<const Kept> want,
                               const Layout& layout);

/// Checks all rows, or as many random ones as 10⁹ products of the reference reach.
Comparison check_product(const MaskedBmm& p, const Mask& mask, std::span<const float> A,
                         std::span<const float> B, std::span<const float> got,
                         const Layout& layout);
/// Both coarse masks.
Comparison check_coarse_masks(const MaskedBmm& p, const Mask& mask, const DeviceMasks& device);

}  // namespace tutorial::masked_bmm
