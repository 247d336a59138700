// Tensors that lie as people have them.
#include "common/data/narrow.hpp"
#include "common/testing/asked_for.hpp"
#include "hopper/launch.hpp"
#include "hopper/tests/problems.hpp"
#include "tensor_cores/tests/placed.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

void check_in_layout(const Step<Launcher>& step, const Problem& problem, const Offsets& offsets) {
  DeviceBuffer<std::byte> memory(workspace_bytes(problem.shape));
  tensor_cores::check_placed(
      step.name, problem, offsets,
      [&](const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
          float* lse) { step.launch(shape, q, k, v, out, lse, workspace_in(memory), nullptr); });
}

TEST_CASE("hopper: steps with strides are right in every layout", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & STRIDES) == 0 || !is_in_sample(step.name)) return;
  tensor_cores::for_layouts([&](const Problem& problem, const Offsets& offsets) {
    check_in_layout(step, problem, offsets);
  });
  // Two consumers, and three.
  for (int64_t Tq : {130, 192})
    for (int64_t HS : {64, 72})
      check_in_layout(step,
                      normal_problem(tensor_cores::in_layout(
                          {.B = 2, .NH = 4, .NH_kv = 2, .Tq = Tq, .Tk = Tq, .HS = HS}, "qkv")),
                      {});
}

TEST_CASE("hopper: steps with strides ask for as much in another layout", "[counts]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & STRIDES) == 0) return;
  const Attention a = tensor_cores::in_layout(
      {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 150, .Tk = 140, .HS = 72}, "bthd");
  const Problem p = normal_problem(a);
  const DeviceBuffer<bf16> q(narrowed<bf16>(p.q)), k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
  DeviceBuffer<bf16> out(a.rows() * a.HS);
  DeviceBuffer<float> lse(a.rows());
  DeviceBuffer<std::byte> memory(workspace_bytes(a));
  check_asked_for(step, [&](auto run) {
    return run(a, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
               nullptr);
  });
}

TEST_CASE("hopper: TMA takes strides that are multiples of 16 bytes, below 2^40 and not 0") {
  const auto takes = [](const Strides& k) {
    return all_rows_for_tma(
        tensor_cores::with_strides(
            {.B = 2, .NH = 2, .NH_kv = 2, .Tq = 3, .Tk = 3, .HS = 8, .strides = {.k = k}}),
        nullptr, nullptr, nullptr, nullptr);
  };
  CHECK(takes({}));
  CHECK(takes({.batch = 8, .head = 80, .token = 16}));
  CHECK(!takes({.batch = 8, .head = 84, .token = 16}));
  CHECK(!takes({.batch = 8, .head = 0, .token = 16}));
  CHECK(takes({.batch = (int64_t{1} << 39) - 8, .head = 8, .token = 16}));
  CHECK(!takes({.batch = int64_t{1} << 39, .head = 8, .token = 16}));
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
