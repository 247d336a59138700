// What CUDA has and the CPU backend has not, so that a program that asks for it is told in a
// sentence and not by a compiler's hundred. docs/try.md has the same list for people.
#pragma once

#include <string_view>

namespace simulator {

/// What an #include of this name asks for, such as "Thrust"; "" when it is there, or not CUDA's.
std::string_view absent_header(std::string_view name);

/// The same for a word of the program. `is_scope`: a :: follows it.
std::string_view absent_word(std::string_view word, bool is_scope);

}  // namespace simulator
