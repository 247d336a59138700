#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "long_rows/long_rows.hpp"

namespace tutorial::softmax::long_rows {

TEST_CASE("part long_rows runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("04_softmax/long_rows/main.cpp");
  const int64_t rows = gpu.at("--rows"), cols = gpu.at("--cols");
  for (const auto& step : steps)
    check_where_it_runs({.part = "04/long_rows", .name = step.name, .needs = step.needs}, [&] {
      DeviceBuffer<float> x(rows * cols), y(rows * cols);
      step.launch({rows, cols}, x.data(), y.data(), nullptr);
    });
}

}  // namespace tutorial::softmax::long_rows
