// Tensors that lie as people have them.
#include "common/backend/backend.hpp"
#include "common/data/narrow.hpp"
#include "common/testing/asked_for.hpp"
#include "hopper/launch.hpp"
#include "hopper/tests/problems.hpp"
#include "tensor_cores/tests/placed.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

void check_in_layout(const Step<Launcher>& step, const Problem& problem, const Offsets& offsets) {
  if (!is_in_sample(step.name)) return;
  DeviceBuffer<std::byte> memory(workspace_bytes(problem.shape));
  tensor_cores::check_placed(
      step.name, problem, offsets,
      [&](const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
          float* lse) { step.launch(shape, q, k, v, out, lse, workspace_in(memory), nullptr); });
}

// lengths has some of them below.
TEST_CASE("hopper: steps with strides are right in every layout", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != layouts) return;
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
  check_problem_asks(step, a, workspace_bytes(a));
}

TEST_CASE("hopper: steps with lengths are right for padded batches", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  const auto check = [&](const Problem& problem, const Offsets& offsets) {
    check_in_layout(step, problem, offsets);
  };
  // Three consumers with 192 queries, and two; tiles of 128 keys, and of 80.
  const auto aligned = [&](const Problem& problem) { check(problem, {}); };
  for_lengths(192, 128, 24, false, aligned);
  for_lengths(128, 128, 72, true, aligned);
  for_lengths(128, 80, 200, false, aligned);
  const std::vector<int64_t> lengths = {50, 0, 70};
  Attention shape = {.B = 3, .NH = 2, .NH_kv = 1, .Tq = 70, .Tk = 70, .HS = 72};
  shape.lengths = {lengths.data(), lengths.data()};
  for (const char* layout : {"bthd", "qkv"})
    check(with_padding(normal_problem(tensor_cores::in_layout(shape, layout))), {});
  check(with_padding(normal_problem(shape)), {.v = 1});
}

// Blocks that stay come from a sequence to the next, and a warp may come late.
TEST_CASE("hopper: steps with lengths go from sequence to sequence") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  const std::vector<int64_t> lengths = {300, 5, 0, 129, 260, 31};
  Attention shape = {.B = 6, .NH = 2, .NH_kv = 1, .Tq = 300, .Tk = 300, .HS = 8};
  shape.lengths = {lengths.data(), lengths.data()};
  for (int order : {0, 1}) {
    const FewMultiprocessors few(order == 0 ? 2 : 6);
    set_thread_order(order);
    check_in_layout(step, with_padding(normal_problem(shape)), {});
  }
  set_thread_order(0);
}

TEST_CASE("hopper: steps with lengths ask for what is there, and no more", "[counts]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & LENGTHS) == 0) return;
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  for (int64_t HS : {64, 200}) {
    Attention a = {.B = 4, .NH = 2, .NH_kv = 1, .Tq = 150, .Tk = 290, .HS = HS};
    const std::vector<int64_t> queries = {0, 150, 129, 20}, keys = {20, 290, 120, 150};
    a.lengths = {queries.data(), keys.data()};
    const Problem p = normal_problem(a);
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q)), k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    DeviceBuffer<std::byte> memory(workspace_bytes(a));
    const DeviceLengths on_device(a);
    // Two lengths for each thread, for each tile of queries.
    check_asked_for(step,
                    [&](auto run) {
                      return run(on_device.of(a), q.data(), k.data(), v.data(), out.data(),
                                 lse.data(), workspace_in(memory), nullptr);
                    },
                    {.more = 2 * 8 * 385 * 2 * 4 * 2});
  }
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
