// A right answer for the tests of the comparison to damage.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/data/random.hpp"

namespace tutorial {

inline constexpr float NaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float Infinity = std::numeric_limits<float>::infinity();
/// What DeviceBuffer fills memory with.
inline float poison() {
  return std::bit_cast<float>(0xffffffffu);
}

/// `batch` matrices of random values, and a result that is equal to them.
struct Outcome {
  Layout layout;
  Expected want;
  std::vector<float> got;

  Outcome(int64_t batch, int64_t rows, int64_t cols, Tile tile = {}) {
    layout = {.name = "C", .batch = batch, .rows = rows, .cols = cols, .tile = tile};
    got = make_values({batch, rows, cols}, Init::normal, 7);
    want.value.assign(got.begin(), got.end());
    want.bound.assign(got.size(), 1e-5);
  }
  int64_t index(int64_t batch, int64_t row, int64_t col) const {
    return (batch * layout.rows + row) * layout.cols + col;
  }
  /// The element that is wanted there. The result is `got_at`.
  float want_at(int64_t batch, int64_t row, int64_t col) const {
    return static_cast<float>(want.value[index(batch, row, col)]);
  }
  float& got_at(int64_t batch, int64_t row, int64_t col) { return got[index(batch, row, col)]; }

  /// Sets every element of the result to what `value(batch, row, col)` says.
  void compute(const std::function<float(int64_t, int64_t, int64_t)>& value) {
    for (int64_t b = 0; b < layout.batch; ++b)
      for (int64_t r = 0; r < layout.rows; ++r)
        for (int64_t c = 0; c < layout.cols; ++c) got_at(b, r, c) = value(b, r, c);
  }
  Comparison compare() const { return tutorial::compare(got, want, layout); }
};

}  // namespace tutorial
