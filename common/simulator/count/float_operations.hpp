// Floating-point instructions of a basic block, which no hook sees: read off the program's own
// code.
#pragma once

#include <cstdint>

namespace simulator {

struct FloatOperations {
  int32_t multiply = 0, add = 0;  // a GPU does both in one
  int32_t compare = 0;            // minimum, maximum
  int32_t divide = 0;             // division, square root
  int32_t function = 0;           // exponential function, logarithm
};

/// `call`: the offset, in the program, of the last byte of the call that begins the block
/// (-fsanitize-coverage=trace-pc). The block ends where the next one begins. On x86-64, and in a
/// page, where a table has them (common/browser/float_operations.cpp); elsewhere nothing is found.
FloatOperations float_operations(uint32_t call);

}  // namespace simulator
