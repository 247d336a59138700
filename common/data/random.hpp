// Seeded initial values. The same seed gives the same values on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutorial {

enum class Init {
  uniform,   // in [-1, 1)
  normal,    // mean 0, deviation 1
  arange,    // 0, 1, 2, … scaled into [0, 1): easy to follow by eye
  identity,  // ones on the diagonal of each trailing matrix
  outliers,  // normal, with one element in a thousand 1000 times larger
};

/// "uniform", "normal", … as in --init. Throws Error that lists the names.
Init parse_init(std::string_view name);
/// The names for --help: "uniform|normal|arange|identity|outliers".
const char* init_names();

/// Values for a tensor of this shape (row-major). Two tensors of one program must have different
/// seeds, so that A is unlike B.
std::vector<float> make_values(const std::vector<int64_t>& shape, Init init, uint64_t seed);

}  // namespace tutorial
