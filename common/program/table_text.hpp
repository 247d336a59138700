// The table at the end of a chapter's program.
#pragma once

#include <string>
#include <vector>

#include "common/program/row.hpp"

namespace tutorial {

/// At most so many columns of the screen, unless all columns of the table are asked for.
inline constexpr size_t kTableWidth = 100;

/// One line a row, with a line of column heads first. A column that would say nothing is left out,
/// and without `all_columns` those that few ask for.
std::string table_text(const std::vector<Result>& results, bool has_clock, bool all_columns);
/// The same, and more, for other programs: one line of names, then one line a row and one for each
/// of its kernels of which something is known.
std::string csv_text(const std::vector<Result>& results, const std::string& chapter,
                     const Problem& problem);
/// The row that is 100 %: the first vendor's that was right and timed; or null.
const Result* vendor_of(const std::vector<Result>& results);
/// "ok", "WRONG", …
const char* verdict_text(Verdict verdict);

}  // namespace tutorial
