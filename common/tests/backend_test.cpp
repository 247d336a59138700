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

TEST_CASE("what came with an architecture is in the later ones, but for what has the letter") {
  CHECK(has_architecture("sm_80", 80));
  CHECK_FALSE(has_architecture("sm_80", 75));
  for (int later : {90, 100, 120}) CHECK(has_architecture("sm_90", later));
  CHECK(has_architecture("sm_90a", 90));
  for (int other : {89, 100, 120}) CHECK_FALSE(has_architecture("sm_90a", other));
}

TEST_CASE("what a kernel needs is there, or the reason says what it is") {
  CHECK(why_not_here("") == "");
  CHECK_THAT(why_not_here("sm_999"), ContainsSubstring("needs sm_999"));
  CHECK_THAT(why_not_here("sm_999a"), ContainsSubstring("needs sm_999a"));
  if (device_has_clock()) return;
  for (const char* here : {"sm_80", "sm_90", "sm_90a"}) CHECK(why_not_here(here) == "");
}
