// What holds on either backend.
#include "common/backend/backend.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a backend that runs the tests can be used, and has a name") {
  CHECK_NOTHROW(require_device());
  CHECK_FALSE(device_description().empty());
}

TEST_CASE("what a kernel needs is there, or the reason says what it is") {
  CHECK(why_not_here("") == "");
  CHECK_THAT(why_not_here("sm_999"), ContainsSubstring("needs sm_999"));
  CHECK_THAT(why_not_here("sm_999a"), ContainsSubstring("needs sm_999a"));
  if (device_has_clock()) return;
  for (const char* here : {"sm_80", "sm_90", "sm_90a"}) CHECK(why_not_here(here) == "");
}
