// Every step of the part on shapes and scores that their likely mistakes do not survive; then the
// rules by which rows make tiles and keys are cut, and what the steps ask for and leave to other
// parts. Part tensor_cores tests the reference.
#include <algorithm>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/same_bits.hpp"
#include "few_queries/tests/problems.hpp"

namespace tutorial::flash_attention::few_queries {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr int SMS = 132;  // of an H100 or H200, and of the simulator

TEST_CASE("few queries: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 1, .Tk = 1, .HS = 16},
           {.Tq = 5, .Tk = 3, .HS = 8},                                    // queries without keys
           {.NH = 4, .NH_kv = 1, .Tq = 1, .Tk = 256, .HS = 64},            // whole tiles
           {.B = 2, .NH = 8, .NH_kv = 2, .Tq = 1, .Tk = 1100, .HS = 128},  // several parts
           {.B = 2, .NH = 6, .NH_kv = 2, .Tq = 3, .Tk = 300, .HS = 40},    // rows of three heads
           {.NH = 4, .NH_kv = 1, .Tq = 4, .Tk = 129, .HS = 128},           // 16 rows
           {.NH = 4, .NH_kv = 1, .Tq = 16, .Tk = 400, .HS = 128},          // 64 rows
           {.NH = 3, .NH_kv = 1, .Tq = 7, .Tk = 131, .HS = 72, .causal = false},
           {.NH = 5, .NH_kv = 1, .Tq = 30, .Tk = 70, .HS = 24},  // three tiles of rows
           // … whose rows of the next head see a tile of keys less than those before
           {.NH = 5, .NH_kv = 1, .Tq = 30, .Tk = 155, .HS = 24},
           {.NH = 2, .NH_kv = 1, .Tq = 90, .Tk = 40, .HS = 104},    // some of them without keys
           {.NH = 2, .NH_kv = 1, .Tq = 3, .Tk = 200, .HS = 256},    // short tiles
           {.NH = 2, .NH_kv = 1, .Tq = 20, .Tk = 150, .HS = 136}})  // … of 64 rows
    check_step(step, normal_problem(shape));
}

TEST_CASE("few queries: every step is right for all head sizes", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (int64_t HS = 8; HS <= 256; HS += step.launch == clusters ? 8 : 56)
    check_step(step, normal_problem({.NH = 2, .Tq = 2, .Tk = 140, .HS = HS, .causal = false}));
}

TEST_CASE("few queries: every step is right in 99 KB of shared memory", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch == &by_shape && device_attribute(cudaDevAttrComputeCapabilityMajor) == 9)
    return;  // takes part hopper, too: every device of compute capability 9.0 has 227 KB
  const SmallSharedMemory small(99 * 1024);
  for (int64_t HS : {64, 128, 256}) {
    check_step(step, normal_problem({.NH = 2, .NH_kv = 1, .Tq = 2, .Tk = 400, .HS = HS}));
    check_step(step, normal_problem({.NH = 4, .NH_kv = 1, .Tq = 15, .Tk = 200, .HS = HS}));
  }
}

// So that a block has more keys than its ring, and more parts come than a cluster has.
TEST_CASE("few queries: every step is right on a small device, and on a large one") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.Tq = 2, .Tk = 1500, .HS = 16}));
  const FewMultiprocessors few(1);
  check_step(step, normal_problem({.B = 2, .NH = 4, .NH_kv = 2, .Tq = 2, .Tk = 700, .HS = 128}));
  check_step(step, normal_problem({.B = 3, .NH = 3, .NH_kv = 1, .Tq = 9, .Tk = 500, .HS = 64}));
}

TEST_CASE("few queries: every step takes any address that a bf16 can have") {
  const auto step = EACH_STEP(steps);
  const Problem problem = normal_problem({.NH = 2, .NH_kv = 1, .Tq = 3, .Tk = 33, .HS = 24});
  for (int64_t offset : {1, 4}) {
    check_step(step, problem, {.q = offset});
    check_step(step, problem, {.k = offset});
    check_step(step, problem, {.v = offset});
    check_step(step, problem, {.out = offset});
  }
  check_step(step, problem, {.q = 8, .k = 16, .v = 24, .out = 40, .lse = 3});
}

TEST_CASE("few queries: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0, .HS = 8}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 8}));
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 8}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  step.launch({.Tq = 5, .Tk = 5, .HS = 0}, nullptr, nullptr, nullptr, nullptr, nullptr, {},
              nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("few queries: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape) {
    step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr);
  };
  CHECK_THROWS_MATCHES(launch({.HS = 20}), Error,
                       MessageMatches(ContainsSubstring("head size 20 is no multiple of 8")));
  CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 264}), Error,
                       MessageMatches(ContainsSubstring("takes at most 256")));
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4, .HS = 8}), Error,
                       MessageMatches(ContainsSubstring("--heads a multiple of --kv-heads")));
  CHECK_THROWS_AS(launch({.Tq = -1, .HS = 8}), Error);
  if (step.launch == split_keys || step.launch == warps_share)
    CHECK_THROWS_MATCHES(launch({.Tk = 1000, .HS = 8}), Error,
                         MessageMatches(ContainsSubstring("needs a workspace of")));
  const SmallGrid grid(2, 2);
  CHECK_THROWS_MATCHES(
      launch({.NH = 3, .NH_kv = 3, .HS = 8}), Error,
      MessageMatches(ContainsSubstring("3 blocks are more than the 2 that a grid can have")));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("few queries: a tile has 16 rows, or 64 where more share keys") {
  CHECK(rows_of_tile({.NH = 32, .NH_kv = 8, .Tq = 4}) == 16);
  CHECK(rows_of_tile({.NH = 32, .NH_kv = 8, .Tq = 5}) == 64);
  CHECK(rows_of_tile({.NH = 17, .NH_kv = 1, .Tq = 1}) == 64);
  CHECK(rows_of_tile({.NH = 0, .NH_kv = 0, .Tq = 1}) == 16);
}

TEST_CASE("few queries: keys are cut where there are too few tiles for all multiprocessors") {
  const auto split = [](int64_t B, int64_t Tq, int64_t Tk, int64_t most = INT64_MAX) {
    const Split s = split_of({.B = B, .NH = 32, .NH_kv = 8, .Tq = Tq, .Tk = Tk}, SMS, most);
    CHECK((s.parts - 1) * s.keys < std::max<int64_t>(Tk, 1));  // none is empty
    CHECK(s.parts * s.keys >= Tk);
    CHECK(s.keys % STEP_KEYS == 0);
    return std::vector{s.tiles, s.parts};
  };
  CHECK(split(8, 1, 4096) == std::vector<int64_t>{64, 2});
  CHECK(split(8, 16, 4096) == std::vector<int64_t>{64, 2});
  CHECK(split(8, 17, 4096)[0] == 128);  // 68 rows
  CHECK(split(1, 1, 131072) == std::vector<int64_t>{8, 16});
  CHECK(split(1, 1, 131072, 8) == std::vector<int64_t>{8, 8});  // a cluster has no more
  CHECK(split(1, 1, 4096) == std::vector<int64_t>{8, 16});
  CHECK(split(1, 1, 256)[1] == 2);  // at least 128 keys each
  CHECK(split(1, 1, 128)[1] == 1);
  CHECK(split(1, 1, 0)[1] == 1);
  CHECK(split(17, 1, 100000) == std::vector<int64_t>{136, 3});  // four rounds, not two of 52 %
  CHECK(split(1000, 1, 4096)[1] == 1);                          // many anyway
}

TEST_CASE("few queries: by_shape goes the way that rows and the device allow") {
  const auto way = [](int64_t B, int64_t Tq, int capability, bool aligned = true,
                      int64_t HS = 128) {
    return way_of({.B = B, .NH = 32, .NH_kv = 8, .Tq = Tq, .Tk = 4096, .HS = HS}, aligned,
                  capability, SMS);
  };
  CHECK(way(8, 1, 90) == Way::clusters);       // in two parts
  CHECK(way(4, 1, 90) == Way::warps_share);    // in four
  CHECK(way(8, 16, 90) == Way::warps_share);   // 64 rows
  CHECK(way(8, 32, 90) == Way::warps_share);   // 128 tiles
  CHECK(way(8, 64, 90) == Way::hopper);        // 256 tiles
  CHECK(way(1, 128, 90) == Way::warps_share);  // 64 tiles in four parts, or 32 of 128 queries
  CHECK(way(8, 16, 90, true, 256) == Way::clusters);
  // Without wgmma, without clusters, and rows that begin anywhere.
  CHECK(way(32, 256, 120) == Way::tensor_cores);
  CHECK(way(8, 4, 120) == Way::clusters);
  CHECK(way(8, 4, 89) == Way::warps_share);
  CHECK(way(8, 1, 90, false) == Way::tensor_cores);
  // Short sequences: one tile of each head, until there is enough to do for wgmma.
  const auto of_length = [](int64_t T) {
    return way_of({.B = 4, .NH = 32, .NH_kv = 8, .Tq = T, .Tk = T, .HS = 128}, true, 90, SMS);
  };
  CHECK(of_length(4) == Way::warps_share);
  CHECK(of_length(32) == Way::tensor_cores);
  CHECK(of_length(512) == Way::hopper);
  CHECK(way_of({.NH = 0, .NH_kv = 0}, true, 90, SMS) == Way::warps_share);
}

TEST_CASE("few queries: the bits of out and lse are the same every time") {
  const auto step = EACH_STEP(steps);
  if (!is_in_sample(step.name)) return;
  const Attention shape = {.NH = 2, .NH_kv = 1, .Tq = 3, .Tk = 700, .HS = 16};
  const Problem p = normal_problem(shape);
  const DeviceBuffer<bf16> q(narrowed<bf16>(p.q)), k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
  CAPTURE(step.name);
  check_same_bits([&] {
    DeviceBuffer<bf16> out(shape.rows() * shape.HS);
    DeviceBuffer<float> lse(shape.rows());
    DeviceBuffer<std::byte> memory(workspace_bytes(shape));
    step.launch(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
                nullptr);
    std::vector<float> both = widened<bf16>(out.to_host());
    for (const float sum : lse.to_host()) both.push_back(sum);
    return both;
  });
}

TEST_CASE("few queries: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& shape, int64_t of_q) {
    if (!is_in_sample(step.name)) return;
    CAPTURE(step.name, text(shape), of_q);
    tensor_cores::check_problem_in_two_streams(normal_problem(shape), of_q, workspace_bytes(shape),
                                               step.launch);
  };
  check({.NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 600, .HS = 64}, 0);
  check({.NH = 2, .NH_kv = 1, .Tq = 65, .Tk = 140, .HS = 72}, 0);  // queries are many
  check({.Tq = 2, .Tk = 33, .HS = 24}, 1);                         // at any address
}

TEST_CASE("few queries: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& a, int64_t of_q = 0) {
    const Counts counts = tensor_cores::check_problem_asks(step, a, workspace_bytes(a), of_q);
    if (of_q == 0) check_no_conflicts(counts);
  };
  check({.Tq = 1, .Tk = 200, .HS = 64, .causal = false});
  check({.B = 2, .NH = 6, .NH_kv = 2, .Tq = 2, .Tk = 1100, .HS = 40});
  check({.NH = 4, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 104});
  check({.NH = 4, .NH_kv = 2, .Tq = 20, .Tk = 150, .HS = 256});
  check({.Tq = 1, .Tk = 100, .HS = 24});
  // part tensor_cores' any_address, which reads the keys once for each query head
  check({.NH = 4, .NH_kv = 1, .Tq = 3, .Tk = 100, .HS = 24}, 1);
  const Attention none = {.Tq = 0, .Tk = 100, .HS = 24};
  for (const Asked& by : step.asked(none, nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr))
    CHECK(by.loads + by.stores == 0);
}

}  // namespace
}  // namespace tutorial::flash_attention::few_queries
