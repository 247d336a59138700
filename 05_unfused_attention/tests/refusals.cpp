// What is refused, and what memory is asked for.
#include <cmath>
#include <string>

#include "common/kernel/error.hpp"
#include "tests/every_pipeline.hpp"

namespace tutorial::unfused_attention {
namespace {

TEST_CASE("what cannot be computed is refused in one sentence") {
  const auto refusal = [](const Attention& a) -> std::string {
    try {
      require_supported(a);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto refused_for = [&](const Attention& a, const char* word) {
    INFO(refusal(a));
    CHECK(refusal(a).find(word) != std::string::npos);
  };
  CHECK(refusal({.B = 1, .T = 8, .C = 12, .NH = 3}).empty());
  refused_for({.B = 1, .T = 8, .C = 10, .NH = 3}, "10 channels");
  refused_for({.B = 1, .T = 8, .C = 2, .NH = 3}, "--heads");
  refused_for({.B = 1, .T = 8, .C = 2, .NH = 0}, "--heads");
  for (const int block_size : {0, 16, 33, 1025, 1056, 2048})
    refused_for({.B = 1, .T = 8, .C = 2, .NH = 1, .block_size = block_size}, "--block-size");
  refused_for({.B = 1 << 20, .T = 8, .C = 1 << 20, .NH = 1 << 20}, "2147483647");
  refused_for({.B = 1, .T = int64_t{1} << 31, .C = 1, .NH = 1}, "2147483647");
}

TEST_CASE("a pipeline refuses before it launches anything") {
  check_refusals(EACH_STEP(steps));
}

TEST_CASE("the workspace holds what it says") {
  const Attention a = {.B = 2, .T = 7, .C = 6, .NH = 3};
  const StageWorkspace w(a);
  const int64_t floats =
      w.q.size() + w.k.size() + w.v.size() + w.preatt.size() + w.att.size() + w.vaccum.size();
  CHECK(workspace_bytes(a) ==
        4.0 * static_cast<double>(floats) + 8.0 * static_cast<double>(w.pointers.size()));
}

}  // namespace
}  // namespace tutorial::unfused_attention
