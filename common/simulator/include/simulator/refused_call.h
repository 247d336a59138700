// A library that is declared and not there: what includes its header compiles, and a call ends with
// a report that says so.
#pragma once

#include <source_location>

namespace simulator {

/// Reports that `function` is not on the CPU backend, and what there is `instead`; a program's last
/// words then say that something was found. Once for a line.
void refuse_call(const char* function, const char* instead, const std::source_location& where);

}  // namespace simulator
