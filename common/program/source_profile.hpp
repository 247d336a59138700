// --profile: the source of each kernel with what its lines did beside it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/backend/profile.hpp"
#include "common/kernel/step.hpp"

namespace tutorial {

/// Prints the profile of one step's kernels. `title` is its first line; `symbols` are the letters
/// in the steps' headers (cost_model.hpp).
void print_profile(const std::string& title, const std::vector<KernelProfile>& profiles,
                   const std::vector<Asked>& asked, const std::map<std::string, double>& symbols);

/// One line a kernel, for other programs.
std::string profile_csv_heads();
std::string profile_csv_lines(const std::string& chapter, const std::string& sizes,
                              const std::string& step, const std::vector<KernelProfile>& profiles);

}  // namespace tutorial
