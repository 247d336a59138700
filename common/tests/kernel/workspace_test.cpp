// Memory that comes with a launch, and the test that a launcher stays in its stream.
#include "common/kernel/workspace.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cstdint>

#include "common/kernel/error.hpp"

using namespace tutorial;

TEST_CASE("a workspace gives pieces at multiples of 16 bytes, as long as there are any") {
  alignas(16) unsigned char memory[64];
  Workspace left = {.memory = memory, .bytes = 64};
  CHECK(left.take<char>(1) == reinterpret_cast<char*>(memory));
  CHECK(left.take<float>(4) == reinterpret_cast<float*>(memory + 16));
  CHECK(left.bytes == 32);
  CHECK(left.take<double>(5) == nullptr);  // 40 bytes
  CHECK(left.bytes == 32);
  CHECK(left.take<double>(4) == reinterpret_cast<double*>(memory + 32));
  CHECK(left.bytes == 0);
  CHECK(left.take<char>(1) == nullptr);
  CHECK(Workspace::bytes_of<float>(0) == 0);
  CHECK(Workspace::bytes_of<float>(5) == 32);
}

TEST_CASE("too small a workspace is refused in a sentence") {
  CHECK_NOTHROW(require_workspace({.memory = nullptr, .bytes = 100}, 100, "split_keys"));
  CHECK_THROWS_MATCHES(
      require_workspace({.memory = nullptr, .bytes = 99}, 100, "split_keys"), Error,
      Catch::Matchers::Message("split_keys needs a workspace of 100 bytes for this problem and was "
                               "given 99: give it as many as workspace_bytes() says."));
}
