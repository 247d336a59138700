// What a step cannot do it says before it launches.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("tensor cores: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const bool any = step.launch == any_address || step.features != 0;
  const auto* odd = reinterpret_cast<const bf16*>(uintptr_t{258});  // never read
  const auto launch = [&](const Attention& shape, const bf16* q = nullptr) {
    step.launch(shape, q, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  CHECK_THROWS_MATCHES(launch({.HS = 20}, any ? odd : nullptr), Error,
                       MessageMatches(ContainsSubstring("head size 20 is no multiple of 8")));
  const int64_t largest = largest_head_size(step.launch);
  CHECK_THROWS_MATCHES(
      launch({.B = 0, .HS = largest + 8}), Error,  // so the program asks
      MessageMatches(ContainsSubstring("takes at most " + std::to_string(largest))));
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4, .HS = 8}), Error,
                       MessageMatches(ContainsSubstring("--heads a multiple of --kv-heads")));
  CHECK_THROWS_AS(launch({.NH = 6, .NH_kv = 0, .HS = 8}), Error);
  CHECK_THROWS_AS(launch({.Tq = -1, .HS = 8}), Error);
  if (!any)
    CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 8}, odd), Error,
                         MessageMatches(ContainsSubstring("take --kernel any_address")));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("tensor cores: lengths are refused by steps without them") {
  const auto step = EACH_STEP(steps);
  const int64_t* const some = reinterpret_cast<const int64_t*>(uintptr_t{256});  // never read
  for (const Lengths& lengths : {Lengths{.queries = some}, Lengths{.keys = some}}) {
    const auto launch = [&] {
      step.launch({.B = 0, .HS = 8, .lengths = lengths}, nullptr, nullptr, nullptr, nullptr,
                  nullptr, nullptr);
    };
    if ((step.features & LENGTHS) != 0)
      CHECK_NOTHROW(launch());
    else
      CHECK_THROWS_MATCHES(
          launch(), Error,
          MessageMatches(ContainsSubstring("one length for all sequences; take --kernel lengths")));
  }
}

TEST_CASE("tensor cores: strides are refused by steps without them, and bad ones by all") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const TensorStrides& strides) {
    step.launch({.B = 2, .NH = 2, .NH_kv = 2, .Tq = 0, .Tk = 3, .HS = 8, .strides = strides},
                nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  const auto says = [](const char* text) { return MessageMatches(ContainsSubstring(text)); };
  if ((step.features & STRIDES) == 0) {
    CHECK_THROWS_MATCHES(launch({.v = {48, 8, 16}}), Error, says("and no strides; take --kernel"));
    CHECK_THROWS_MATCHES(launch({.out = {48, 8, 16}}), Error, says("and no strides"));
    return;
  }
  CHECK_NOTHROW(launch({.v = {48, 8, 16}}));
  CHECK_THROWS_MATCHES(launch({.k = {48, -8, 16}}), Error, says("a stride is -8; take 0 or more"));
  const auto overlap = [&](const Strides& out) {
    step.launch({.B = 2, .NH = 2, .NH_kv = 2, .Tq = 3, .Tk = 3, .HS = 8, .strides = {.out = out}},
                nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  for (const Strides& out : {Strides{48, 0, 16}, Strides{4, 8, 16}, Strides{48, 24, 7}})
    CHECK_THROWS_MATCHES(overlap(out), Error, says("apart and overlap"));
}

TEST_CASE("tensor cores: every step refuses more blocks than a grid has") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step, {.HS = 8})) return;
  const SmallGrid grid(2, 2);
  CHECK_THROWS_MATCHES(
      step.launch({.NH = 3, .NH_kv = 3, .HS = 8}, nullptr, nullptr, nullptr, nullptr, nullptr,
                  nullptr),
      Error,
      MessageMatches(ContainsSubstring("3 blocks are more than the 2 that a grid can have")));
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
