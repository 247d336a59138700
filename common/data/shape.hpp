// The extents of a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutorial {

/// "2×3×4"; "()" for a scalar.
std::string shape_text(const std::vector<int64_t>& shape);
/// The product of the extents. Throws Error when it does not fit (more than 2^60 elements).
int64_t element_count(const std::vector<int64_t>& shape);

}  // namespace tutorial
