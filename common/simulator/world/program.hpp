// What symbols.cpp needs to know of the program that runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/world/symbols.hpp"

namespace simulator {

struct Function {
  uintptr_t address;  // from program_start() on
  const char* name;   // mangled
  size_t source;      // of one that is known in one source only
};
struct Variable {
  const char* name;  // mangled
  uintptr_t offset;  // in the thread-local storage
  size_t bytes;
  size_t source;
};
struct ProgramSymbols {
  std::vector<Function> functions;
  std::vector<Variable> variables;  // thread-local ones, in any order
};

ProgramSymbols read_program_symbols();

/// The line that an instruction comes from, and those into which the compiler has put its function,
/// the last one in the function that it is in. Slow.
std::vector<SourcePlace> lines_of(const void* instruction);

}  // namespace simulator
