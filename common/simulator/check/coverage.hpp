// A grid that was rounded down leaves the end of an array to nobody, and all checks are content:
// what a program's last words note of it.
#pragma once

#include <string>
#include <vector>

#include "common/simulator/device/device.hpp"

namespace simulator {

/// Looks at an allocation that is about to be freed, or at the program's end. It is noted where one
/// launch wrote its beginning, from the first element by its first thread to the last one by its
/// last thread, and no kernel ever came to the rest, which is less than a block's.
void look_at_coverage(const Allocation& allocation);
std::vector<std::string> coverage_notes();

}  // namespace simulator
