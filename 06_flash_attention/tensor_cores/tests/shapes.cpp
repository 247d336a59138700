// Every step, on shapes and addresses that its likely mistakes do not survive.
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

TEST_CASE("tensor cores: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 16},
      {.Tq = 5, .Tk = 3, .HS = 8},       // less than a tile; queries without keys
      {.Tq = 64, .Tk = 64, .HS = 64},    // whole tiles
      {.Tq = 130, .Tk = 200, .HS = 40},  // tails everywhere, 4 tiles of keys
      {.Tq = 140, .Tk = 90, .HS = 16},   // the edge lies inside a tile of queries
      {.Tq = 1, .Tk = 150, .HS = 128},   // one query, as in decoding
      {.B = 2, .NH = 2, .NH_kv = 2, .Tq = 37, .Tk = 70, .HS = 24},
      {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 32},  // grouped queries
      {.NH = 3, .NH_kv = 1, .Tq = 20, .Tk = 40, .HS = 104},
      {.Tq = 32, .Tk = 97, .HS = 48, .causal = false},
      {.Tq = 70, .Tk = 150, .HS = 72, .causal = false},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("tensor cores: steps for larger heads are right for all head sizes", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (largest_head_size(step.launch) <= 128) return;
  const bool own = step.launch == head_sizes;
  const int64_t apart = own ? 8 : 40;  // others pad to one of three or four
  for (int64_t HS = 8; HS <= 256; HS += apart) {
    check_step(step, normal_problem({.Tq = 19, .Tk = 70, .HS = HS, .causal = false}));
    if (HS > 128) check_step(step, normal_problem({.Tq = 140, .Tk = 90, .HS = HS}));
  }
}

// Where the tiles of head sizes above 128 do not fit; those of others do. Head sizes with a swizzle
// of each kind, several tiles of keys, and queries that end in a block's second half.
TEST_CASE("tensor cores: every step is right in 99 KB of shared memory", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const SmallSharedMemory small(99 * 1024);
  for (int64_t HS : {32, 64, 80, 128, 144, 192, 216, 256}) {
    if (HS <= largest_head_size(step.launch)) REQUIRE(!is_too_large_here(step, {.HS = HS}));
    if (HS > 128) check_step(step, normal_problem({.Tq = 120, .Tk = 90, .HS = HS}));
  }
  check_step(step, normal_problem({.Tq = 19, .Tk = 70, .HS = 160, .causal = false}));
}

/// How many blocks the step launches for 128 queries of a head.
int64_t blocks_of(const Step<Launcher>& step, int64_t HS) {
  const Attention shape = {.Tq = 128, .Tk = 1, .HS = HS, .causal = false};
  const DeviceBuffer<bf16> zeros(std::vector<bf16>(128 * HS, bf16(0.0f)),
                                 step.launch == any_address ? 1 : 0);
  DeviceBuffer<bf16> out(128 * HS);
  DeviceBuffer<float> lse(128);
  start_profile();
  step.launch(shape, zeros.data(), zeros.data(), zeros.data(), out.data(), lse.data(), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  const KernelProfile kernel = take_profile(false).back();
  return device_has_clock() ? kernel.takes.blocks : kernel.blocks;
}

// The large tile has 128 queries, the small one 64.
TEST_CASE("tensor cores: above head size 128 the large tile is taken where it fits") {
  const auto step = EACH_STEP(steps);
  if (largest_head_size(step.launch) <= 128) return;
  for (int64_t HS : {160, 192, 224, 256}) {
    const int64_t D = (step.launch == head_sizes || step.features != 0) ? HS
                      : step.launch == large_heads                      ? ceil_div(HS, 64) * 64
                                                                        : 256;
    const int64_t needed = 2 * (128 + 4 * 64) * D;
    CAPTURE(step.name, HS, needed);
    if (needed <= shared_memory_limit()) {
      const SmallSharedMemory enough(needed);
      CHECK(blocks_of(step, HS) == 1);
    }
    const SmallSharedMemory small(needed - 1);
    CHECK(blocks_of(step, HS) == 2);
  }
}

TEST_CASE("tensor cores: steps from any_address on take any address that a bf16 can have") {
  const auto step = EACH_STEP(steps);
  if (step.launch != any_address && step.features == 0) return;
  const Problem problem =
      normal_problem({.B = 1, .NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 33, .HS = 24});
  for (int64_t offset : {1, 2, 4}) {
    check_step(step, problem, {.q = offset});
    check_step(step, problem, {.q = 8, .k = offset});
    check_step(step, problem, {.q = 8, .v = offset});
    check_step(step, problem, {.q = 8, .out = offset});
    check_step(step, problem, {offset, offset + 1, offset, offset + 1, offset});
  }
}

TEST_CASE("tensor cores: every step takes any address of lse, and tensors 16 bytes further") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.Tq = 9, .Tk = 33, .HS = 24}),
             {.q = 8, .k = 16, .v = 24, .out = 40, .lse = 3});
}

TEST_CASE("tensor cores: every step takes more heads than a grid has blocks in y", "[large]") {
  if (!device_has_clock()) SKIP("65538 blocks take the simulator minutes");
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 2, .NH = 32769, .NH_kv = 3, .Tq = 1, .Tk = 1, .HS = 8}));
}

TEST_CASE("tensor cores: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](const Attention& shape, int64_t of_q) {
    if (shape.HS > largest_head_size(step.launch) || is_too_large_here(step, shape)) return;
    if (!is_in_sample(step.name)) return;
    CAPTURE(step.name, text(shape), of_q);
    check_problem_in_two_streams(
        normal_problem(shape), of_q, 0,
        [&](const Attention& x, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse,
            Workspace, cudaStream_t stream) { step.launch(x, q, k, v, out, lse, stream); });
  };
  check({.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 24}, 0);
  check({.Tq = 9, .Tk = 33, .HS = 136}, 0);
  if (step.launch == any_address || step.launch == layouts) check({.Tq = 9, .Tk = 33, .HS = 24}, 1);
}

TEST_CASE("tensor cores: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .HS = 8}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0, .HS = 8}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 8}));
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 8}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  step.launch({.Tq = 5, .Tk = 5, .HS = 0}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  // … and none is at an address that allows 16 bytes at a time.
  auto* const odd = reinterpret_cast<bf16*>(uintptr_t{2});
  if (step.launch == any_address || (step.features & LENGTHS) != 0)
    step.launch({.Tq = 5, .Tk = 5, .HS = 0}, odd, odd, odd, odd, nullptr, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
