// Part long_rows of chapter 04: rows that the registers of a block do not hold.
//
// From 32769 columns on the road's steps read a row twice. Here it stays on the chip: in shared
// memory, or in that of several blocks, which form a cluster. The last step takes rows of any
// length, each in the way that is the fastest for it, the road's or the part's.
#pragma once

#include <vector>

#include "04_softmax.hpp"

namespace tutorial::softmax::long_rows {

/// The road's step that step 1 goes on from.
inline constexpr const char* after = "row_on_chip";

/// One softmax of every row: x and y are rows × cols.
struct Softmax {
  int64_t rows = 0, cols = 0;
};

/// As the road's launchers, in a stream: all that it does is in that one.
using Launcher = void(const Softmax& problem, const float* x, float* y, cudaStream_t stream);

Launcher row_in_shared, cluster, half_in_registers, any_row;

/// As the road's last two steps.
inline std::vector<Asked> reads_once_on(const Softmax& problem, const float* x, float* y,
                                        cudaStream_t) {
  return reads_once(x, y, problem.rows, problem.cols);
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "row_in_shared",
     .launch = row_in_shared,
     .asked = reads_once_on,
     .idea = "a long row waits in shared memory",
     .tile = ROW_A_BLOCK},
    {.name = "cluster",
     .launch = cluster,
     .asked = reads_once_on,
     .idea = "eight blocks share a row",
     .needs = "sm_90"},
    {.name = "half_in_registers",
     .launch = half_in_registers,
     .asked = reads_once_on,
     .idea = "a part of the row in registers: more rows on an SM",
     .needs = "sm_90"},
    {.name = "any_row",
     .launch = any_row,
     .asked = reads_once_on,
     .idea = "the fastest for each length of row, of these and the road's"},
};

}  // namespace tutorial::softmax::long_rows
