// What the checks found in one launch, over all workers: a report for each kind, array and pair of
// source lines, with a count. Of several blocks the first one's words, so that a launch's reports
// are the same on however many cores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/simulator/world/symbols.hpp"
#include "simulator/runtime_api.h"

namespace simulator {

/// The kind of a note that is left out beside a fault.
inline constexpr const char* kSameValue = "same value";

struct Finding {
  const char* kind;   // "race", "init", "bounds", "barrier"; "note", kSameValue: what is no fault
  uintptr_t array;    // anything that tells arrays apart
  cudaError_t error;  // cudaSuccess for a note
  uint32_t block;     // that found it: its number in the grid
};

/// Counts a finding at two instructions (or one, given twice). `report` makes all lines of the
/// report but the count; it is called for the first one of the first block only.
void count_finding(const Finding& finding, const void* first, const void* second,
                   const std::function<std::string()>& report);
/// The same at one place of the source.
void count_finding(const Finding& finding, const SourcePlace& place,
                   const std::function<std::string()>& report);

/// The reports of the launch that has just ended, and its error; forgets them.
std::pair<cudaError_t, std::string> take_findings();

}  // namespace simulator
