#include "common/testing/where_it_runs.hpp"

#include "04_softmax.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::softmax {

TEST_CASE("chapter 04 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("04_softmax/main.cpp");
  const int64_t rows = gpu.at("--rows"), cols = gpu.at("--cols");
  check_where_they_run("04", steps, [&](Launcher* launch) {
    DeviceBuffer<float> x(rows * cols), y(rows * cols);
    launch(x.data(), y.data(), rows, cols);
  });
}

}  // namespace tutorial::softmax
