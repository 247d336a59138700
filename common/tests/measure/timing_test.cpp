// The event timer.
#include "common/measure/timing.hpp"

#include <catch2/catch_test_macros.hpp>

#include "common/backend/backend.hpp"
#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"

using namespace tutorial;

TEST_CASE("quantiles lie between the values") {
  CHECK(quantile({3}, 0.5) == 3);
  CHECK(quantile({4, 1, 3, 2}, 0.0) == 1);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({4, 1, 3, 2}, 1.0) == 4);
  CHECK(quantile({5, 1, 2, 4, 3}, 0.25) == 2);
  CHECK(quantile({5, 1, 2, 4, 3}, 0.75) == 4);
}

TEST_CASE("what is done in milliseconds, in a second") {
  CHECK(per_second(6e9, {.median_ms = 0.5, .low_ms = 0.25, .high_ms = 1}) == 12e12);
  CHECK(megahertz(4.5e6, 2.5) == 1800);  // cycles, milliseconds
}

TEST_CASE("a launch is timed as often as asked, after warm-up", "[timing]") {
  if (!device_has_clock()) SKIP("needs a clock on the device");
  constexpr int64_t kBytes = 64 << 20;
  DeviceBuffer<char> from(kBytes), to(kBytes);
  const auto copy = [&](int64_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(bytes),
                               cudaMemcpyDeviceToDevice));
  };
  int launches = 0, befores = 0;
  const Timing whole = time_launch(
      [&] {
        ++launches;
        CHECK(befores == launches);
        copy(kBytes);
      },
      20, [&] { ++befores; });
  CHECK(whole.repeats == 20);
  CHECK(launches == 23);
  CHECK(befores == 23);
  CHECK(whole.low_ms > 0);
  CHECK(whole.low_ms <= whole.median_ms);
  CHECK(whole.median_ms <= whole.high_ms);

  const Timing part = time_launch([&] { copy(kBytes / 16); }, 20);
  CHECK(part.median_ms < whole.median_ms);
  CHECK_THROWS_AS(time_launch([] {}, 0), Error);
}

TEST_CASE("a timed launch that fails is reported", "[timing]") {
  if (!device_has_clock()) SKIP("needs a clock on the device");
  const auto fails = [] { CUDA_CHECK(cudaMemcpy(nullptr, nullptr, 1, cudaMemcpyDeviceToDevice)); };
  CHECK_THROWS_AS(time_launch(fails, 5), CudaError);
  cudaGetLastError();
}
