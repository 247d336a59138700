// Which tile a device's shared memory allows: both sides of each border.
#include "common/kernel/shared_memory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/testing/testing.hpp"

namespace tutorial {
namespace {

template <int64_t SIZE>
struct Sized {
  static constexpr int64_t BYTES = SIZE;
};

template <class... Tiles>
int64_t chosen(int64_t limit) {
  int64_t bytes = 0;
  with_first_that_fits<Tiles...>(limit, [&]<class Tile>() { bytes = Tile::BYTES; });
  return bytes;
}

TEST_CASE("the first tile that fits is taken, up to the last byte") {
  const auto of_three = chosen<Sized<3000>, Sized<2000>, Sized<1000>>;
  CHECK(of_three(3001) == 3000);
  CHECK(of_three(3000) == 3000);
  CHECK(of_three(2999) == 2000);
  CHECK(of_three(2000) == 2000);
  CHECK(of_three(1999) == 1000);
  CHECK(of_three(1000) == 1000);
  CHECK(of_three(999) == 1000);  // which is refused
  CHECK(chosen<Sized<1000>>(10) == 1000);
}

TEST_CASE("a block that wants more shared memory than the device has is refused") {
  const int64_t limit = shared_memory_limit();
  CHECK(limit >= 64 * 1024);
  CHECK_NOTHROW(require_shared_memory(limit, "it", "take less"));
  CHECK_THROWS_MATCHES(
      require_shared_memory(limit + 1, "it", "take less"), DeviceTooSmall,
      Catch::Matchers::Message("it needs " + std::to_string(limit + 1) +
                               " bytes of shared memory a block; this device allows " +
                               std::to_string(limit) + ": take less."));
}

TEST_CASE("a test can take any device for a smaller one") {
  const int64_t limit = shared_memory_limit();
  {
    const SmallSharedMemory small(limit - 1);
    CHECK(shared_memory_limit() == limit - 1);
    CHECK_THROWS_AS(require_shared_memory(limit, "it", "take less"), DeviceTooSmall);
    const SmallSharedMemory smaller(1000);
    CHECK(shared_memory_limit() == 1000);
  }
  CHECK(shared_memory_limit() == limit);
  const SmallSharedMemory larger(limit + 1);  // than the device: changes nothing
  CHECK(shared_memory_limit() == limit);
}

TEST_CASE("a launcher that did not ask how much there is gets CUDA's error") {
  const SmallSharedMemory small(1000);
  void (*const kernel)(int) = nullptr;  // not looked at
  CHECK_THROWS_AS(allow_shared_memory(kernel, 1001), CudaError);
}

}  // namespace
}  // namespace tutorial
