// What the programs of the chapter and of its part strips share: options, problem, rows to check.
#pragma once

#include <vector>

#include "05_unfused_attention.hpp"
#include "common/program/table.hpp"

namespace tutorial::unfused_attention {

/// `own`, with the sizes and flags that an Attention is made of, and the input qkv.
Usage with_qkv(Usage own);

/// The problem of these options. Throws Error for what is not supported.
Attention attention_of(const Options& options);

/// Throws Error when no selected step can do the problem.
void require_a_step(Table& table, const std::vector<Step<Launcher>>& steps,
                    const Attention& attention);

/// Says what the problem is and what memory its tensors take, which with `more_bytes` the device
/// must have.
void announce(Table& table, const Attention& attention, double more_bytes = 0);

/// The rows of out to compare: as many as the host can afford a reference for.
std::vector<int64_t> rows_to_check(const Attention& attention, uint64_t seed);

}  // namespace tutorial::unfused_attention
