// One step on one matrix, beside the reference.
#pragma once

#include <functional>
#include <vector>

#include "04_softmax.hpp"
#include "common/testing/testing.hpp"
#include "long_rows/long_rows.hpp"

namespace tutorial::softmax {

/// A step of the road or of part long_rows, in the default stream.
struct AnyStep {
  const char* name;
  Tile tile;
  const char* needs;
  std::function<void(const float* x, float* y, int64_t rows, int64_t cols)> launch;
  std::function<std::vector<Asked>(const float* x, float* y, int64_t rows, int64_t cols)> asked;

  AnyStep(const Step<Launcher>& step)
      : name(step.name),
        tile(step.tile),
        needs(step.needs),
        launch(step.launch),
        asked(step.asked) {}
  AnyStep(const Step<long_rows::Launcher>& step)
      : name(step.name),
        tile(step.tile),
        needs(step.needs),
        launch([=](const float* x, float* y, int64_t rows, int64_t cols) {
          step.launch({rows, cols}, x, y, nullptr);
        }),
        asked([=](const float* x, float* y, int64_t rows, int64_t cols) {
          return step.asked({rows, cols}, x, y, nullptr);
        }) {}
};

struct Offsets {
  int64_t x = 0, y = 0;  // floats from an aligned address
};

inline Expected whole_reference(const std::vector<float>& x, int64_t rows, int64_t cols) {
  return reference(x, cols, all_rows(rows));
}

inline void check_step(const AnyStep& step, const std::vector<float>& x, int64_t rows, int64_t cols,
                       Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
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
