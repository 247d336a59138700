// The table that a program printed, beside what --csv wrote of the same run.
#pragma once

#include "common/testing/program_run.hpp"

namespace tutorial {

/// Each row stands in the table, in --csv's order but with the vendor's rows last; and each cell
/// says the same, as the columns are called: a count of bytes with its prefix, sectors by requests,
/// ….
void check_printed_table(const ProgramRun& run);

}  // namespace tutorial
