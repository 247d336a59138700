// The words of a report.
#pragma once

#include <source_location>
#include <string>

#include "vector_types.h"

namespace simulator {

/// "(1,0,0)", or "(1,0)" when z is 0.
std::string triple(uint3 index);
/// "step1_shared_tile.cu:41".
std::string file_line(const std::source_location& where);
/// One indented line: what lies at this address, or what device allocation is nearest.
std::string describe_address(const void* address);

/// Prints a report on stderr and keeps it for last_report().
void publish(const std::string& report);
/// The last report of this process; "" when there was none. For tests.
std::string last_report();

}  // namespace simulator
