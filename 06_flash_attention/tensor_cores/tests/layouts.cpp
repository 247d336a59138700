// Tensors that lie as people have them.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/tests/placed.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

// lengths has some of them below.
TEST_CASE("tensor cores: steps with strides are right in every layout", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != layouts) return;
  for_layouts([&](const Problem& problem, const Offsets& offsets) {
    if (!is_in_sample(step.name) || is_too_large_here(step, problem.shape)) return;
    check_placed(step.name, problem, offsets,
                 [&](const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                     float* lse) { step.launch(shape, q, k, v, out, lse, nullptr); });
  });
}

TEST_CASE("tensor cores: steps with strides ask for as much in another layout", "[counts]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & STRIDES) == 0) return;
  for (int64_t HS : {64, 96, 40, 24, 136}) {
    const Attention a =
        in_layout({.B = 2, .NH = 2, .NH_kv = 1, .Tq = 150, .Tk = 140, .HS = HS}, "bthd");
    const Problem p = normal_problem(a);
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q)), k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    check_no_conflicts(check_asked_for(step, [&](auto run) {
      return run(a, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr);
    }));
  }
}

TEST_CASE("tensor cores: steps with lengths are right for padded batches", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  const auto check = [&](const Problem& problem, const Offsets& offsets) {
    if (!is_in_sample(step.name) || is_too_large_here(step, problem.shape)) return;
    check_placed(step.name, problem, offsets,
                 [&](const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                     float* lse) { step.launch(shape, q, k, v, out, lse, nullptr); });
  };
  for (int64_t HS : {40, 136})
    for_lengths(128, HS <= 64 ? 128 : 64, HS, HS == 40,
                [&](const Problem& problem) { check(problem, {}); });
  // In other layouts, and number by number.
  const std::vector<int64_t> lengths = {50, 0, 70};
  Attention shape = {.B = 3, .NH = 2, .NH_kv = 1, .Tq = 70, .Tk = 70, .HS = 72};
  shape.lengths = {lengths.data(), lengths.data()};
  for (const char* layout : {"bthd", "qkv"})
    check(with_padding(normal_problem(in_layout(shape, layout))), {});
  check(with_padding(normal_problem(shape)), {.v = 1});
}

TEST_CASE("tensor cores: steps with lengths ask for what is there, and no more", "[counts]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  for (bool causal : {true, false}) {
    Attention a = {.B = 4, .NH = 2, .NH_kv = 1, .Tq = 150, .Tk = 150, .HS = 64, .causal = causal};
    const std::vector<int64_t> lengths = {0, 150, 129, 20};
    a.lengths = {lengths.data(), lengths.data()};
    const Problem p = normal_problem(a);
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q)), k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    const DeviceLengths on_device(a);
    // Two lengths for each of 128 threads in two blocks a head.
    check_asked_for(step,
                    [&](auto run) {
                      return run(on_device.of(a), q.data(), k.data(), v.data(), out.data(),
                                 lse.data(), nullptr);
                    },
                    {.more = 2 * 8 * 128 * 2 * 4 * 2});
  }
}

TEST_CASE("tensor cores: a layout has its strides, and is refused where it has none") {
  const Attention shape = {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 5, .Tk = 7, .HS = 8};
  CHECK(placed_q(shape).span() == 2 * 4 * 5 * 8);
  CHECK(placed_q({.B = 0, .HS = 8}).span() == 0);
  const auto says = [](const char* sentence) {
    return Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(sentence));
  };
  const Attention bthd = in_layout(shape, "bthd");
  CHECK(bthd.strides.q.token == 32);
  CHECK(bthd.strides.k.at(1, 1, 1) == 7 * 16 + 8 + 16);
  CHECK(placed_out(bthd).span() == 2 * 4 * 5 * 8);
  CHECK_THROWS_MATCHES(in_layout(shape, "qkv"), Error,
                       says("there are 5 queries and 7 keys; make --seq-kv"));
  CHECK_THROWS_MATCHES(in_layout(shape, "hbtd"), Error, says("take bhtd, bthd or qkv"));
  Attention square = shape;
  square.Tk = 5;
  const Attention fused = in_layout(square, "qkv");
  CHECK(fused.strides.v.token == 64);
  CHECK(fused.strides.out.token == 32);
}

TEST_CASE("tensor cores: the copy into another layout moves every row, and no more") {
  const Attention shape = {.B = 2, .NH = 3, .NH_kv = 3, .Tq = 5, .Tk = 5, .HS = 24};
  const Placed from = placed_q(in_layout(shape, "qkv")), to = placed_q(shape);
  const std::vector<float> dense = rounded_to<bf16>(make_values({2, 3, 5, 24}, Init::normal, 1));
  std::vector<bf16> fused(from.span(), bf16(0.0f));
  place(dense, from, fused);
  const DeviceBuffer<bf16> q(fused);
  DeviceBuffer<bf16> got(to.span());
  permute(q.data(), from, got.data(), to.strides, nullptr);
  CHECK(widened<bf16>(got.to_host()) == dense);
  CHECK(got.guards_intact());
  permute(nullptr, placed_q({.B = 0, .HS = 8}), nullptr, {}, nullptr);  // no grid of 0 blocks
  CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
