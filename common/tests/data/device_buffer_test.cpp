// The owning device array: poison, guard zones, alignment, ownership.
#include "common/data/device_buffer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>

#include "common/kernel/error.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("new global memory is NaN, and poison() makes it so again") {
  DeviceBuffer<float> buffer(1000);
  for (float value : buffer.to_host()) REQUIRE(std::isnan(value));
  buffer.from_host(std::vector<float>(1000, 1.5f));
  for (float value : buffer.to_host()) REQUIRE(value == 1.5f);
  buffer.poison();
  for (float value : buffer.to_host()) REQUIRE(std::isnan(value));
  CHECK(buffer.guards_intact());
}

TEST_CASE("values come back as they were") {
  const std::vector<double> values = {1.5, -2.25, 1e300};
  CHECK(DeviceBuffer<double>(values).to_host() == values);
  CHECK(DeviceBuffer<double>(values, 3).to_host() == values);
}

TEST_CASE("offset moves data() from its alignment") {
  for (int64_t offset = 0; offset < 5; ++offset) {
    DeviceBuffer<float> buffer(7, offset);
    const auto address = reinterpret_cast<uintptr_t>(buffer.data());
    CHECK(address % 256 == static_cast<uintptr_t>(offset) * sizeof(float));
    CHECK(buffer.size() == 7);
    CHECK(buffer.guards_intact());
  }
}

TEST_CASE("a write just before or after the elements damages the guards") {
  for (const int64_t offset : {0, 1, 3}) {
    for (const int64_t place : {-1, 100}) {
      DeviceBuffer<float> buffer(100, offset);
      CUDA_CHECK(cudaMemset(buffer.data(), 0, 100 * sizeof(float)));
      CHECK(buffer.guards_intact());
      CUDA_CHECK(cudaMemset(buffer.data() + place, 0, sizeof(float)));
      CHECK_FALSE(buffer.guards_intact());
      buffer.poison();
      CHECK(buffer.guards_intact());
    }
  }
}

TEST_CASE("a buffer without elements has an address and guards") {
  DeviceBuffer<float> buffer(0);
  CHECK(buffer.data() != nullptr);
  CHECK(buffer.to_host().empty());
  CHECK(buffer.guards_intact());
}

TEST_CASE("a buffer is moved, not copied") {
  DeviceBuffer<int> first(std::vector<int>{1, 2, 3});
  const int* data = first.data();
  DeviceBuffer<int> second(std::move(first));
  CHECK(second.data() == data);
  CHECK(second.to_host() == std::vector<int>{1, 2, 3});

  DeviceBuffer<int> third;
  third.poison();  // nothing to do
  CHECK(third.guards_intact());
  third = std::move(second);
  CHECK(third.to_host() == std::vector<int>{1, 2, 3});
}

TEST_CASE("too little global memory is one sentence, and the next call works") {
  try {
    DeviceBuffer<float> buffer(int64_t{1} << 46);
    FAIL("256 TiB were allocated");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("281 TB"));
    CHECK_THAT(error.what(), ContainsSubstring("choose smaller sizes"));
  }
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(DeviceBuffer<float>(10).guards_intact());
}
