// What the options --mask and --fill mean.
#pragma once

#include <cstdint>
#include <string>

#include "03_masked_bmm.hpp"

namespace tutorial::masked_bmm {

/// The mask that --mask names. i is a row, j a column, shift = N - M (so that the last row sees the
/// last column, whatever the shape):
///   none      keeps all
///   causal    keeps j <= i + shift
///   window:W  keeps the last W of those: i + shift - W < j <= i + shift
///   random:P  keeps each element with probability P
///   blocks:P  keeps each 128×128 block with probability P
///   FILE.npy  float32 0 and 1, M × N or batch × M × N
/// `per_batch` makes one for each batch; the random ones then differ. Throws Error for anything
/// else.
Mask make_mask(const std::string& kind, int64_t batch, int64_t M, int64_t N, bool per_batch,
               uint64_t seed);

/// The value that --fill gives. Throws Error for what is no float32.
float parse_fill(const std::string& text);

}  // namespace tutorial::masked_bmm
