// Numbers that the environment gives to a program.
#pragma once

#include <cstdint>
#include <optional>

namespace simulator {

/// The whole number that the variable `name` holds; nothing when it is empty or not there. Ends the
/// program with one sentence and 2 when it holds anything else.
std::optional<uint64_t> number_from_environment(const char* name);

}  // namespace simulator
