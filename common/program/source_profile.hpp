// --profile: the source of each kernel with what its lines did beside it.
#pragma once

#include <string>
#include <vector>

#include "common/backend/profile.hpp"
#include "common/kernel/step.hpp"

namespace tutorial {

/// Prints the profile of one step's kernels. `title` is its first line; `asked` is what they should
/// ask for.
void print_profile(const std::string& title, const std::vector<KernelProfile>& profiles,
                   const std::vector<Asked>& asked);

/// One line a kernel, for other programs.
std::string profile_csv_heads();
std::string profile_csv_lines(const std::string& chapter, const std::string& sizes,
                              const std::string& step, const std::vector<KernelProfile>& profiles);

}  // namespace tutorial
