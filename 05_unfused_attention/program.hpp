// What the programs of the chapter and of its part strips share: options, problem, rows to check.
#pragma once

#include <vector>

#include "05_unfused_attention.hpp"
#include "common/program/chapter.hpp"

namespace tutorial::unfused_attention {

/// Before parse(): the options that `attention` is made of, and the input qkv.
Input& add_options(Chapter& chapter, Attention& attention);

/// After parse(): says what the problem is and what memory its tensors take, which with
/// `more_bytes` the device must have. Throws Error for what is not supported.
void announce(Chapter& chapter, const Attention& attention, double more_bytes = 0);

/// The rows of out to compare: as many as the host can afford a reference for.
std::vector<int64_t> rows_to_check(const Chapter& chapter, const Attention& attention);

namespace strips {
/// The program of `--part strips`.
void body(Chapter& chapter);
}  // namespace strips

}  // namespace tutorial::unfused_attention
