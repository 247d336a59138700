// Inline PTX as C++: what `asm volatile("add.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))` does,
// with the functions of simulator/inline_ptx.h and those that the words of common/kernel/ have on
// the CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simulator {

struct CppOfPtx {
  std::string statements;
  std::string refused;  // a sentence, if something in it is not on the CPU backend
};

/// `literals`: the text as it stands in the source, in quotes. `operands`: the expressions of %0,
/// %1, …. (No exception: the translator that a page has catches none.)
CppOfPtx cpp_of_ptx(const std::vector<std::string_view>& literals,
                    const std::vector<std::string>& operands);

}  // namespace simulator
