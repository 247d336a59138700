// Rows of scores that a softmax gets wrong if it does not keep its maximum and its sums right. A
// row has some segments, as wide as what a kernel tells apart: a lane's numbers, a warp's, a tile,
// a block's part. In each the scores go one of six ways, and there is a row for every combination.
#pragma once

#include <cstdint>
#include <vector>

namespace tutorial {

enum class Run {
  rise,       // by 10, and on from segment to segment
  fall,       // the same
  jump_up,    // 150 above, 216 powers of two; the next one that jumps is 150 above this
  jump_down,  // and below
  underflow,  // from -78 to -104: exp of it, beside a maximum near 0, ends among the subnormals
  minus_infinity,
};
inline constexpr int64_t RUNS = 6;

/// The way of combination `row` in segment `segment`.
Run run_of(int64_t row, int segment, int64_t runs = RUNS);
/// Score number `at` of the segment's `width`.
float score_of(Run run, int segment, int segments, int64_t at, int64_t width);

/// All RUNS^segments rows, of segments · width columns.
struct HardRows {
  int64_t rows, cols;
  std::vector<float> values;
};
HardRows hard_rows(int segments, int64_t width);

/// The same as products q·k / √HS, for attention. A key of -∞ is one for all queries of its head:
/// so there are 2^segments heads, one for each set of segments of -∞, and in each 5^segments
/// queries, one for each combination of the other runs. HS is at least least_head_size(segments).
struct HardScores {
  int64_t heads, queries, keys;
  std::vector<float> q, k;  // (heads, queries, HS), (heads, keys, HS)
};
HardScores hard_scores(int segments, int64_t width, int64_t HS);
int64_t least_head_size(int segments);

}  // namespace tutorial
