// What every step asks global memory for, beside its header's formula.
#include "common/testing/asked_for.hpp"

#include "04_softmax.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::softmax {
namespace {

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{3, 1}, {37, 45}, {5, 128}, {3, 1025}, {2, 4100}, {1, 33001}}) {
    CAPTURE(step.name, rows, cols);
    for (const int64_t offset : {0, 3}) {
      const DeviceBuffer<float> x(make_values({rows, cols}, Init::normal, 1), offset);
      DeviceBuffer<float> y(rows * cols, offset);
      check_asked_for({{"rows", rows}, {"cols", cols}},
                      [&] { step.launch(x.data(), y.data(), rows, cols); });
    }
  }
}

}  // namespace
}  // namespace tutorial::softmax
