// The names of a kernel's parameters, from its source: the compiled program has only their types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simulator {

/// Of the kernel with this name ("tile_kernel", without template arguments) in a CUDA source. Empty
/// when the source has no such kernel; for a parameter without a name its type's last word.
std::vector<std::string> kernel_parameters(std::string_view source, std::string_view kernel);

}  // namespace simulator
