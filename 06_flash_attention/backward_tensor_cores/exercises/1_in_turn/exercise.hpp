#pragma once

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int COLUMNS = 256;  // of a tile

/// y[c] = the sum of A's column c. A has n columns, row-major, and block b of `blocks` has rows
/// begin[b] … begin[b + 1] − 1, which may be none. It adds them in their order; y[c] is then (block
/// 0's sum + block 1's) + block 2's …, so it has the same bits on every run. All in global memory;
/// n is a multiple of 4, and y begins at a multiple of 16 bytes. `workspace` has room for
/// ⌈n/COLUMNS⌉ + 1 numbers. Any n and number of blocks, also 0.
void column_sums(const float* A, const int64_t* begin, int blocks, float* y, int64_t n,
                 unsigned* workspace);

}  // namespace tutorial::exercise
