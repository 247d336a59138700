// What the rounding of A and B costs: fp16 beside bf16.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fp16/fp16.hpp"

namespace tutorial::tiled_matmul::fp16 {

/// How far C = A·B moves when A and B are rounded to fp16, and to bf16: the root of the mean square
/// of the difference, as a part of C's own. Of these rows of C, and computed in double: no kernel's
/// errors are in it.
struct RoundingErrors {
  double fp16, bf16;
};
RoundingErrors rounding_errors(std::span<const float> A, std::span<const float> B, int64_t N,
                               int64_t K, std::span<const int64_t> rows);

/// A line for the program's notes that says this of A and B; "" where C has no elements.
std::string rounding_line(const std::vector<float>& A, const std::vector<float>& B,
                          const HalfProduct& product);

}  // namespace tutorial::tiled_matmul::fp16
