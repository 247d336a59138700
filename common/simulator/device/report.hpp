// The words of a report.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "simulator/runtime_api.h"
#include "vector_types.h"

namespace simulator {

/// "(1,0,0)", or "(1,0)" when z is 0.
std::string triple(uint3 index);
/// "block (0,1) thread (3,4)", of a launch, by their numbers.
std::string place_in_grid(const dim3& grid, const dim3& block, uint32_t block_number,
                          uint32_t thread_number);
/// "step1_shared_tile.cu:41".
std::string file_line(const std::source_location& where);
/// One indented line: what lies at this address, or what device allocation is nearest.
std::string describe_address(const void* address);

/// Prints a report on stderr and keeps it for last_report(). It may be of several findings, each of
/// which begins on a line that is not indented; one that the process has told before, by its kind
/// and its lines of source, is not printed again. `error`: what the launch or call ends with.
void publish(const std::string& report, cudaError_t error);
/// The last report of this process; "" when there was none. For tests.
std::string last_report();
/// "race, step1_shared_tile.cu:35": the first finding of the last report with an error.
std::string last_finding();

}  // namespace simulator
