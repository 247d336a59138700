// What a sample of a step's blocks asked of a GPU, as lines for other programs.
#pragma once

#include <string>
#include <vector>

#include "common/backend/sample.hpp"
#include "common/program/row.hpp"

namespace tutorial {

std::string sample_csv_heads();
/// A line a launch.
std::string sample_csv_lines(const std::string& program, const std::string& sizes,
                             const Result& result, const std::vector<SampledLaunch>& launches);

}  // namespace tutorial
