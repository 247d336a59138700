// What a step cannot do it says before it launches.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

auto says(const std::string& text) {
  return MessageMatches(ContainsSubstring(text));
}

TEST_CASE("fp8 attention: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape, const e4m3* q = nullptr, bf16* out = nullptr) {
    step.launch(shape, q, nullptr, nullptr, {}, out, nullptr, {}, nullptr);
  };
  CHECK_THROWS_MATCHES(launch({.HS = 24}), Error, says("head size 24 is no multiple of 16"));
  CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 144}), Error,  // so the program asks
                       says("head size 144 is too large for " + std::string(step.name)));
  CHECK_NOTHROW(launch({.B = 0, .HS = 128}));
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4, .HS = 16}), Error,
                       says("--heads a multiple of --kv-heads"));
  CHECK_THROWS_AS(launch({.NH = 6, .NH_kv = 0, .HS = 16}), Error);
  CHECK_THROWS_AS(launch({.Tq = -1, .HS = 16}), Error);
  const int64_t too_many = (int64_t{1} << 31) - 512;
  for (const Attention& shape :
       {Attention{.B = 0, .Tk = too_many, .HS = 16}, Attention{.NH = 0, .Tq = too_many, .HS = 16},
        Attention{.B = too_many, .Tq = 0, .HS = 16}})
    CHECK_THROWS_MATCHES(launch(shape), Error,
                         says("counts rows and heads in 32 bits, as TMA does"));
  CHECK_NOTHROW(launch({.B = 0, .Tk = too_many - 1, .HS = 16}));
  const auto at = [](uintptr_t address) { return reinterpret_cast<e4m3*>(address); };  // never read
  CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 16}, at(264)), Error,
                       says("does not begin at a multiple of 16 bytes"));
  CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 16}, at(256), reinterpret_cast<bf16*>(at(264))), Error,
                       says("does not begin at a multiple of 16 bytes"));
  CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 16, .strides = {.q = {48, 16, 16}}}), Error,
                       says("and no strides"));
  CHECK_THROWS_MATCHES(
      launch({.B = 0, .HS = 16, .lengths = {.queries = reinterpret_cast<const int64_t*>(at(256))}}),
      Error, says("one length for all sequences"));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("fp8 attention: every step refuses a workspace that is too small") {
  const auto step = EACH_STEP(steps);
  for (const int64_t HS : {64, 80}) {  // 64 has three consumers from step 3 on
    const Attention shape = {.Tq = 192, .Tk = 9, .HS = HS};
    const int64_t needed = step.launch == transposed_before ? workspace_bytes(shape) : 16;
    CHECK(workspace_bytes(shape) == 16 + 32 * HS);  // a counter, and Vᵀ of 32 keys
    CHECK_THROWS_MATCHES(step.launch(shape, nullptr, nullptr, nullptr, {}, nullptr, nullptr,
                                     {.memory = nullptr, .bytes = needed - 1}, nullptr),
                         Error, says("needs a workspace of " + std::to_string(needed) + " bytes"));
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("fp8 attention: more blocks than a grid has are refused where V is transposed before") {
  const auto step = EACH_STEP(steps);
  if (step.launch != transposed_before) return;
  const SmallGrid grid(2, 2);
  const Attention shape = {.Tq = 1, .Tk = 300, .HS = 16};
  DeviceBuffer<std::byte> memory(workspace_bytes(shape));
  CHECK_THROWS_MATCHES(step.launch(shape, nullptr, nullptr, nullptr, {}, nullptr, nullptr,
                                   workspace_in(memory), nullptr),
                       Error, says("3 blocks are more than the 2 that a grid can have"));
}

}  // namespace
}  // namespace tutorial::flash_attention::fp8
