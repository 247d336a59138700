// Every step of the backward pass, on shapes, addresses and values that its likely mistakes do not
// survive; and what it refuses.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "common/testing/for_now.hpp"
#include "common/testing/same_bits.hpp"
#include "common/testing/two_streams.hpp"
#include "problems.hpp"

namespace tutorial::flash_attention::backward {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("backward: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 1},
      {.Tq = 5, .Tk = 3, .HS = 5},       // less than a tile; queries without keys
      {.Tq = 20, .Tk = 160, .HS = 40},   // a tile of keys that all queries see
      {.Tq = 140, .Tk = 150, .HS = 33},  // tails everywhere
      {.Tq = 150, .Tk = 20, .HS = 64},   // a tile of queries without keys
      {.Tq = 1, .Tk = 100, .HS = 128},   // a tile has 96 keys
      {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 33, .HS = 20},  // grouped queries
      {.NH = 3, .NH_kv = 1, .Tq = 10, .Tk = 20, .HS = 101},
      {.Tq = 5, .Tk = 3, .HS = 5, .causal = false},
      {.Tq = 70, .Tk = 40, .HS = 72, .causal = false},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("backward: every step is right for whole tiles on both sides of the diagonal") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.Tq = 64, .Tk = 192, .HS = 128}));
}

TEST_CASE("backward: every step has tiles for devices with less shared memory", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch == &unfused) return;  // 17 KB, for every head size
  for (int64_t bytes : {64 * 1024, 99 * 1024, 163 * 1024}) {
    INFO("with " << bytes << " bytes of shared memory a block");
    const SmallSharedMemory small(bytes);
    for (int64_t HS : {1, 32, 64, 80, 128}) CHECK_FALSE(is_too_large_here(step, {.HS = HS}));
    for (const Attention& shape :
         std::vector<Attention>{{.Tq = 70, .Tk = 135, .HS = 33},  // tails everywhere
                                {.Tq = 140, .Tk = 70, .HS = 64, .causal = false},
                                {.Tq = 64, .Tk = 96, .HS = 128},  // whole tiles
                                {.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 53, .HS = 101},
                                {.Tq = 70, .Tk = 5, .HS = 72, .causal = false},
                                {.Tq = 70, .Tk = 5, .HS = 72}})  // queries without keys
      check_step(step, normal_problem(shape));
  }
}

TEST_CASE("backward: a tile is the largest that the device has shared memory for") {
  struct Border {
    int64_t HS, bytes;    // what the tile needs
    int rows, cols;       // of the tile that fits
    int smaller, narrow;  // of the one for a byte less
  };
  for (const auto& [HS, bytes, rows, cols, smaller, narrow] :
       std::vector<Border>{{64, 214016, 128, 128, 128, 64},
                           {64, 146432, 128, 64, 64, 64},
                           {64, 90624, 64, 64, 64, 32},
                           {65, 200448, 96, 64, 64, 64},
                           {128, 156160, 64, 64, 48, 32},
                           {128, 94080, 48, 32, 16, 32}}) {
    if (bytes > shared_memory_limit()) continue;
    CAPTURE(HS, bytes);
    const auto sizes_with = [&, HS = HS](int64_t limit) {
      const SmallSharedMemory small(limit);
      for (Launcher* step : {register_tiles, prefetch, five_products, bounded_parts})
        step({.B = 0, .HS = HS}, {}, {}, nullptr);
      return std::pair(tile_rows(HS), tile_cols(HS));
    };
    CHECK(sizes_with(bytes) == std::pair(rows, cols));
    CHECK(sizes_with(bytes - 1) == std::pair(smaller, narrow));
  }
  const SmallSharedMemory small(74495);
  CHECK(square_size(64) == 32);
  CHECK(square_size(65) == 16);
  for (Launcher* step : {stored_ds, fused})
    CHECK_NOTHROW(step({.B = 0, .HS = 128}, {}, {}, nullptr));
}

TEST_CASE("backward: every step takes any address that a float can have") {
  const auto step = EACH_STEP(steps);
  const Problem small = normal_problem({.Tq = 5, .Tk = 9, .HS = 32});
  for (size_t tensor = 0; tensor < no_offsets.size(); ++tensor) {
    Offsets one = no_offsets;
    one[tensor] = static_cast<int64_t>(1 + tensor % 3);
    check_step(step, small, one);
  }
  check_step(step, small, Offsets(no_offsets.size(), 1));
}

TEST_CASE("backward: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.NH = 2, .NH_kv = 1, .Tq = 20, .Tk = 33, .HS = 20};
  if (is_too_large_here(step, shape) || !is_in_sample(step.name)) return;
  CAPTURE(step.name);
  const Problem problem = normal_problem(shape);
  OnDevice on(step, problem);
  const int64_t queries = query_rows(shape) * shape.HS, keys = key_rows(shape) * shape.HS;
  check_in_two_streams<float>(queries + 2 * keys, workspace_bytes(shape, step.launch),
                              [&](float* dq, Workspace workspace, cudaStream_t stream) {
                                Tensors at = on.tensors();
                                at.dq = dq, at.dk = dq + queries, at.dv = at.dk + keys;
                                step.launch(shape, at, workspace, stream);
                              });
}

TEST_CASE("backward: every step refuses too small a workspace, before it launches") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.Tq = 20, .Tk = 33, .HS = 20};
  if (is_too_large_here(step, shape)) return;
  const Workspace small = {.memory = nullptr, .bytes = workspace_bytes(shape, step.launch) - 1};
  CHECK_THROWS_AS(step.launch(shape, {}, small, nullptr), Error);
  CHECK(cudaGetLastError() == cudaSuccess);
}

// 60 GB, so it must be asked for by its tag. All but the last two heads are 0.
TEST_CASE("backward: every step takes more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  const Attention last = {.NH = 2, .NH_kv = 2, .Tq = 3, .Tk = 1, .HS = 128, .causal = false};
  if (is_too_large_here(step, last)) return;
  Attention shape = last;
  shape.NH = shape.NH_kv = 5592410;  // so many heads of 3·128 elements
  const Problem problem = normal_problem(last);
  const auto large = [](int64_t size, const std::vector<float>& tail) {
    DeviceBuffer<float> buffer(size);
    CUDA_CHECK(cudaMemset(buffer.data(), 0, size * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(buffer.data() + size - tail.size(), tail.data(),
                          tail.size() * sizeof(float), cudaMemcpyHostToDevice));
    return buffer;
  };
  const int64_t queries = shape.rows() * shape.HS, keys = key_rows(shape) * shape.HS;
  const DeviceBuffer<float> q = large(queries, problem.q), k = large(keys, problem.k),
                            v = large(keys, problem.v), out = large(queries, problem.out),
                            dout = large(queries, problem.dout),
                            lse = large(shape.rows(), problem.lse);
  DeviceBuffer<float> dq(queries), dk(keys), dv(keys);
  DeviceBuffer<std::byte> memory(workspace_bytes(shape, step.launch));
  step.launch(shape,
              {q.data(), k.data(), v.data(), out.data(), dout.data(), lse.data(), dq.data(),
               dk.data(), dv.data()},
              workspace_in(memory), nullptr);
  CUDA_CHECK_LAUNCH();
  const Reference want = reference(problem);
  const auto check = [&](const char* name, const DeviceBuffer<float>& got, const Expected& expected,
                         int64_t rows) {
    std::vector<float> tail(expected.value.size());
    CUDA_CHECK(cudaMemcpy(tail.data(), got.data() + got.size() - tail.size(),
                          tail.size() * sizeof(float), cudaMemcpyDeviceToHost));
    const Comparison comparison =
        compare(tail, expected, {.name = name, .batch = last.NH, .rows = rows, .cols = last.HS});
    INFO(step.name << ", the last two heads:\n" << comparison.report);
    CHECK(comparison.ok);
    CHECK(got.guards_intact());
  };
  check("dq", dq, want.dq, last.Tq);
  check("dk", dk, want.dk, last.Tk);
  check("dv", dv, want.dv, last.Tk);
}

TEST_CASE("backward: every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_step(step, normal_problem({.B = 0}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 4}));  // dk and dv are zeros
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 4}));  // dq is
  const Attention no_columns = {.Tq = 5, .Tk = 5, .HS = 0};
  if (is_too_large_here(step, no_columns)) return;
  step.launch(no_columns, {}, {}, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("backward: every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_step(step, with_scores({.Tq = 20, .Tk = 15, .HS = 5, .causal = shift < 0},
                                 [&](int64_t) { return shift; }));
  }
  check_step(step, with_scores({.Tq = 20, .Tk = 140, .HS = 5},
                               [](int64_t j) { return 0.1f * static_cast<float>(j); }));
}

TEST_CASE("backward: bounded_parts adds to dq where it does not do all keys at a time") {
  const Step<Launcher> step = runnable(steps).back();
  if (step.launch != &bounded_parts) SKIP("another step is wanted");
  const ForNow two_at_a_time(blocks_at_a_time, int64_t{2});
  check_step(step, normal_problem({.NH = 2, .NH_kv = 1, .Tq = 20, .Tk = 300, .HS = 8}));
  check_step(step, normal_problem({.Tq = 70, .Tk = 150, .HS = 100}));
  const SmallSharedMemory small(64 * 1024);
  check_step(step, normal_problem({.NH = 2, .NH_kv = 1, .Tq = 40, .Tk = 150, .HS = 8}));
  check_step(step, normal_problem({.Tq = 70, .Tk = 75, .HS = 100}));
}

TEST_CASE("backward: every step gives the same bits again") {
  const auto step = EACH_STEP(steps);
  // Three tiles of keys, of the small ones: the last two steps add up what comes of each. In the
  // others a block has all of a sum.
  const SmallSharedMemory small(64 * 1024);
  const bool has_parts = step.launch == &five_products || step.launch == &bounded_parts;
  const int64_t HS = 8;
  const Attention shape = {.Tq = 5, .Tk = 2 * tile_rows(HS) + 1, .HS = HS, .causal = false};
  if (is_too_large_here(step, shape) || !is_in_sample(step.name)) return;
  const Problem problem = normal_problem(shape);
  OnDevice on(step, problem);
  CAPTURE(step.name);
  check_same_bits(
      [&] {
        for (DeviceBuffer<float>* buffer : {&on.dq, &on.dk, &on.dv}) buffer->poison();
        on.memory.poison();
        on.launch();
        std::vector<float> all = on.dq.to_host();
        for (const DeviceBuffer<float>* buffer : {&on.dk, &on.dv})
          for (float value : buffer->to_host()) all.push_back(value);
        return all;
      },
      has_parts ? 20 : 2);
}

TEST_CASE("backward: every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  const auto launch = [&](const Attention& shape) { step.launch(shape, {}, {}, nullptr); };
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4}), Error,
                       MessageMatches(ContainsSubstring("--heads a multiple of --kv-heads")));
  CHECK_THROWS_AS(launch({.Tq = -1}), Error);
  if (is_too_large_here(step, {.HS = 128})) return;
  if (step.launch != &unfused) {
    CHECK_THROWS_MATCHES(launch({.B = 0, .HS = 129}), Error,
                         MessageMatches(ContainsSubstring("head size 129 is too large for " +
                                                          std::string(step.name))));
  }
  const SmallGrid grid(2, 2);
  CHECK_THROWS_MATCHES(
      launch({.NH = 3, .NH_kv = 3}), Error,
      MessageMatches(ContainsSubstring("3 blocks are more than the 2 that a grid can have")));
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
