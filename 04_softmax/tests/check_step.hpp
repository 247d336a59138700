// One step on one matrix, beside the reference.
#pragma once

#include <vector>

#include "04_softmax.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::softmax {

struct Offsets {
  int64_t x = 0, y = 0;  // floats from an aligned address
};

inline Expected whole_reference(const std::vector<float>& x, int64_t rows, int64_t cols) {
  return reference(x, cols, all_rows(rows));
}

inline void check_step(const Step<Launcher>& step, const std::vector<float>& x, int64_t rows,
                       int64_t cols, Offsets offsets = {}) {
  INFO(step.name << ", rows " << rows << ", cols " << cols << ", x " << offsets.x << " and y "
                 << offsets.y << " floats past a boundary");
  const DeviceBuffer<float> input(x, offsets.x);
  check_launch([&](float* y) { step.launch(input.data(), y, rows, cols); },
               whole_reference(x, rows, cols),
               {.name = "y", .rows = rows, .cols = cols, .tile = step.tile}, offsets.y);
  CHECK(input.guards_intact());
}

inline std::vector<float> normal(int64_t rows, int64_t cols, uint64_t seed = 1) {
  return make_values({rows, cols}, Init::normal, seed);
}

}  // namespace tutorial::softmax
