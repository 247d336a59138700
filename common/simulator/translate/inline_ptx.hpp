// Inline PTX as C++: what `asm volatile("add.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))` does,
// with the functions of simulator/inline_ptx.h and those that the words of common/kernel/ have on
// the CPU.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simulator {

/// What stands there is not on the CPU backend: a sentence that says so.
struct PtxRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Statements of C++. `literals`: the text as it stands in the source, in quotes. `operands`: the
/// expressions of %0, %1, ….
std::string ptx_as_cpp(const std::vector<std::string_view>& literals,
                       const std::vector<std::string>& operands);

}  // namespace simulator
