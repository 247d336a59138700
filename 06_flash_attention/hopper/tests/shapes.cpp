// Every step, on shapes that its likely mistakes do not survive.
#include "common/backend/backend.hpp"
#include "hopper/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

TEST_CASE("hopper: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 16},
      {.Tq = 5, .Tk = 3, .HS = 8},       // less than a tile; queries without keys
      {.Tq = 128, .Tk = 128, .HS = 64},  // whole tiles
      {.Tq = 140, .Tk = 400, .HS = 40},  // tails everywhere, 4 tiles of keys
      {.Tq = 270, .Tk = 140, .HS = 16},  // tiles of queries without keys, with some
      {.Tq = 1, .Tk = 1100, .HS = 24},   // one query, as in decoding; the ring goes round
      {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 32},  // grouped queries
      {.NH = 3, .NH_kv = 1, .Tq = 20, .Tk = 140, .HS = 104},
      {.Tq = 65, .Tk = 257, .HS = 128, .causal = false},
      {.NH = 3, .NH_kv = 3, .Tq = 200, .Tk = 200, .HS = 64},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("hopper: every step is right where three consumers have a tile", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (int64_t HS : {8, 40, 64}) check_both(step, {.Tq = 150, .Tk = 130, .HS = HS}, normal_problem);
}

TEST_CASE("hopper: steps for larger heads are right for all head sizes", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (largest_head_size(step.launch) <= 128) return;
  // The steps after head_sizes have its tiles.
  for (int64_t HS = 8; HS <= 256; HS += step.launch == head_sizes ? 8 : 40)
    check_step(step, normal_problem({.Tq = 19, .Tk = 130, .HS = HS, .causal = false}));
  for (int64_t HS : {56, 96, 136, 192, 200, 256})  // more than a tile of queries, and of keys
    if (step.launch == head_sizes || HS == 96 || HS == 200)
      check_step(step, normal_problem({.NH = 2, .NH_kv = 1, .Tq = 210, .Tk = 330, .HS = HS}));
}

TEST_CASE("hopper: steps for larger heads take any address that a bf16 can have") {
  const auto step = EACH_STEP(steps);
  if (largest_head_size(step.launch) <= 128) return;
  const Problem problem = normal_problem({.NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 33, .HS = 24});
  for (int64_t offset : {1, 4}) {
    check_step(step, problem, {.q = offset});
    check_step(step, problem, {.k = offset});
    check_step(step, problem, {.v = offset});
    check_step(step, problem, {.out = offset});
  }
}

// Blocks that stay take further tiles.
TEST_CASE("hopper: every step has more tiles than the device has SMs") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(6);
  check_step(step, normal_problem({.B = 2, .NH = 4, .NH_kv = 2, .Tq = 130, .Tk = 140, .HS = 8}));
  // Most tiles have no keys: nothing but the queries' own barriers holds their loads back.
  check_step(step, normal_problem({.NH = 7, .Tq = 600, .Tk = 70, .HS = 8}));
}

// In a shuffled order the simulator lets one warp of each block come late; a GPU does as it likes.
// Without keys neither turns nor products hold the warps together.
TEST_CASE("hopper: in every step a warp may come late") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(6);
  set_thread_order(1);
  check_step(step, normal_problem({.NH = 7, .Tq = 600, .Tk = 70, .HS = 8}));
  set_thread_order(0);
}

TEST_CASE("hopper: every step takes any address of lse, and tensors 16 bytes further") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.Tq = 9, .Tk = 33, .HS = 24}),
             {.q = 8, .k = 16, .v = 24, .out = 40, .lse = 3});
}

TEST_CASE("hopper: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& shape, int64_t of_q) {
    if (shape.HS > largest_head_size(step.launch) || !is_in_sample(step.name)) return;
    CAPTURE(step.name, text(shape), of_q);
    check_problem_in_two_streams(normal_problem(shape), of_q, workspace_bytes(shape), step.launch);
  };
  check({.NH = 3, .Tq = 150, .Tk = 140, .HS = 64}, 0);  // three consumers from step 10 on
  check({.NH = 2, .Tq = 130, .Tk = 140, .HS = 72}, 0);
  if (largest_head_size(step.launch) > 128) check({.Tq = 9, .Tk = 33, .HS = 24}, 1);  // not for TMA
}

TEST_CASE("hopper: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  for (const int64_t HS : {8, 72}) check_step(step, normal_problem({.B = 0, .HS = HS}));
  check_step(step, normal_problem({.NH = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0, .HS = 8}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 8}));
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 8}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  step.launch({.Tq = 5, .Tk = 5, .HS = 0}, nullptr, nullptr, nullptr, nullptr, nullptr, {},
              nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
