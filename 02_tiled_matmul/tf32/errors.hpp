// The notes below the table of part tf32: how exact each way to multiply is.
#pragma once

#include <span>

#include "common/program/table.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {

/// Multiplies the inputs in each way, and notes the errors side by side. `exact` are the given rows
/// of C.
void note_errors(Table& table, Input& input_a, Input& input_b, const Tf32Product& product,
                 const Expected& exact, std::span<const int64_t> rows);

}  // namespace tutorial::tiled_matmul::tf32
