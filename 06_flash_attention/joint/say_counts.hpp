// What the program of part joint says above its table.
#pragma once

#include <cstdint>

#include "common/program/table.hpp"

namespace tutorial::flash_attention::joint {

/// Prints what the kernels count, beside the article's formulas.
void say_counts(Table& table, const float* a, const float* b, const float* c, int64_t m, int64_t n,
                int64_t k);

}  // namespace tutorial::flash_attention::joint
