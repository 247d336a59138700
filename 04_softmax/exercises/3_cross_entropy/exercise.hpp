#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// loss[row] = log Σ exp(x[row][col]) - x[row][target[row]]: how much a model's scores for the next
/// word are off, where `target` is the right word. x is rows × cols, row-major float32 in global
/// memory; target and loss have an element a row, and 0 <= target < cols. Any size with
/// rows < 2^31 and, where there are rows, cols > 0. Elements may be -infinity, but not a row's
/// target; none is NaN or +infinity.
void cross_entropy(const float* x, const int* target, float* loss, int64_t rows, int64_t cols);

}  // namespace tutorial::exercise
