// The program's checks: of the product, and of what is built from the mask.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "03_masked_bmm.hpp"
#include "device_masks.hpp"

namespace tutorial::masked_bmm {

/// Checks all rows, or as many random ones as 10⁹ products of the reference reach.
Comparison check_product(const MaskedBmm& p, const Mask& mask, std::span<const float> A,
                         std::span<const float> B, std::span<const float> got,
                         const Layout& layout);
/// Both coarse masks, entry by entry: 0 is none, 1 some, 2 all. `seen` gives the entries of each as
/// they are to be compared.
using Seen = std::function<std::vector<float>(std::vector<float>)>;
Comparison check_coarse_masks(const MaskedBmm& p, const Mask& mask, const DeviceMasks& device,
                              const Seen& seen = std::identity());

}  // namespace tutorial::masked_bmm
