// What a step cannot do it says before it launches.
#include <algorithm>

#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "hopper/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("hopper: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape, const bf16* q = nullptr) {
    step.launch(shape, q, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  };
  const auto says = [](const std::string& text) { return MessageMatches(ContainsSubstring(text)); };
  CHECK_THROWS_MATCHES(launch({.HS = 20}), Error, says("head size 20 is no multiple of 8"));
  const int64_t largest = largest_head_size(step.launch);
  CHECK_THROWS_MATCHES(launch({.B = 0, .HS = largest + 8}), Error,  // so the program asks
                       says("takes at most " + std::to_string(largest)));
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4, .HS = 8}), Error,
                       says("--heads a multiple of --kv-heads"));
  CHECK_THROWS_AS(launch({.NH = 6, .NH_kv = 0, .HS = 8}), Error);
  CHECK_THROWS_AS(launch({.Tq = -1, .HS = 8}), Error);
  CHECK_THROWS_MATCHES(launch({.B = 0, .Tk = int64_t{1} << 31, .HS = 8}), Error,
                       says("counts rows and heads in 32 bits, as TMA does"));
  const auto* odd = reinterpret_cast<const bf16*>(uintptr_t{258});  // never read
  if (step.launch != head_sizes && step.features == 0)
    CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 8}, odd), Error,
                         says("does not begin at a multiple of 16 bytes"));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("hopper: lengths are refused by steps without them") {
  const auto step = EACH_STEP(steps);
  const int64_t* const some = reinterpret_cast<const int64_t*>(uintptr_t{256});  // never read
  for (const Lengths& lengths : {Lengths{.queries = some}, Lengths{.keys = some}}) {
    const auto launch = [&] {
      step.launch({.B = 0, .HS = 8, .lengths = lengths}, nullptr, nullptr, nullptr, nullptr,
                  nullptr, {}, nullptr);
    };
    if ((step.features & LENGTHS) != 0)
      CHECK_NOTHROW(launch());
    else
      CHECK_THROWS_MATCHES(
          launch(), Error,
          MessageMatches(ContainsSubstring("one length for all sequences; take --kernel lengths")));
  }
}

TEST_CASE("hopper: strides are refused by steps without them") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&] {
    step.launch({.B = 0, .HS = 8, .strides = {.q = {48, 8, 16}}}, nullptr, nullptr, nullptr,
                nullptr, nullptr, {}, nullptr);
  };
  if ((step.features & STRIDES) != 0)
    CHECK_NOTHROW(launch());
  else
    CHECK_THROWS_MATCHES(launch(), Error,
                         MessageMatches(ContainsSubstring("and no strides; take --kernel")));
}

TEST_CASE("hopper: a block a tile refuses more blocks than a grid has") {
  const auto step = EACH_STEP(steps);
  constexpr Launcher* a_block_a_tile[] = {warpgroups, setmaxnreg, taking_turns, overlapped};
  if (std::ranges::find(a_block_a_tile, step.launch) == std::end(a_block_a_tile)) return;
  const SmallGrid grid(2, 2);
  CHECK_THROWS_MATCHES(
      step.launch({.NH = 3, .NH_kv = 3, .HS = 8}, nullptr, nullptr, nullptr, nullptr, nullptr, {},
                  nullptr),
      Error,
      MessageMatches(ContainsSubstring("3 blocks are more than the 2 that a grid can have")));
}

TEST_CASE("hopper: the steps with tickets refuse a workspace without room for the counter") {
  const auto step = EACH_STEP(steps);
  for (Launcher* without :
       {warpgroups, setmaxnreg, taking_turns, overlapped, persistent, query_ring})
    if (step.launch == without) return;
  for (int64_t HS : {64, 72}) {  // 64 has three consumers from step 10 on
    const Attention shape = {.Tq = 192, .Tk = 9, .HS = HS};
    const Workspace small = {.memory = nullptr, .bytes = workspace_bytes(shape) - 1};
    CHECK_THROWS_MATCHES(
        step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, small, nullptr), Error,
        MessageMatches(ContainsSubstring("needs a workspace of 16 bytes")));
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
