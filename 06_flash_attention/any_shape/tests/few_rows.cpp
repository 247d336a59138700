// The steps with few rows a tile have fewer warps a block where a device has less shared memory.
#include <algorithm>
#include <iterator>

#include "any_shape/any_shape.hpp"
#include "common/testing/same_bits.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

bool has_few_rows(const Step<Launcher>& step) {
  constexpr Launcher* few[] = {own_keys, group_rows, split_keys};
  return std::ranges::find(few, step.launch) != std::end(few);
}

TEST_CASE("few rows: fewer warps are right for every tile", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (!has_few_rows(step)) return;
  for (int64_t bytes : {64 * 1024, 99 * 1024, 163 * 1024}) {
    INFO("with " << bytes << " bytes of shared memory a block");
    const SmallSharedMemory small(bytes);
    CHECK_FALSE(is_too_large_here(step, {.HS = 64}));
    for (int64_t rows : {4, 8, 16, 32}) {
      check_step(step, normal_problem({.Tq = rows - 1, .Tk = 141, .HS = 101}));
      check_step(step, normal_problem({.Tq = rows, .Tk = 70, .HS = 128, .causal = false}));
    }
    for (int64_t rows : {4, 8, 16}) {
      check_step(step, normal_problem({.Tq = rows - 1, .Tk = 75, .HS = 201}));
      check_step(step, normal_problem({.Tq = rows, .Tk = 35, .HS = 256, .causal = false}));
    }
    check_step(step, normal_problem({.NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 2, .HS = 136}));
  }
}

// Warps in all three, blocks in the last: of 400 keys more than two of each have some.
TEST_CASE("few rows: warps and blocks are added in a fixed order, to the same bits every time") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.NH = 2, .NH_kv = 1, .Tq = 2, .Tk = 400, .HS = 8};
  if (!has_few_rows(step) || is_too_large_here(step, shape) || !is_in_sample(step.name)) return;
  CAPTURE(step.name);
  const Problem problem = normal_problem(shape);
  const DeviceBuffer<float> q(problem.q), k(problem.k), v(problem.v);
  check_same_bits([&] {
    const int64_t size = shape.rows() * shape.HS;
    DeviceBuffer<float> out(size + shape.rows()), scratch(scratch_size(shape));
    launch_step(step, shape, q.data(), k.data(), v.data(), out.data(), out.data() + size,
                workspace_in(scratch));
    return out.to_host();
  });
}

// Another number of warps adds up in another order, and so has other bits.
TEST_CASE("few rows: a block has as many warps as there is shared memory for") {
  const auto step = EACH_STEP(steps);
  if (!has_few_rows(step)) return;
  struct Border {
    int64_t rows, HS, bytes;  // what the tile needs with the larger number of warps
  };
  for (const auto& [rows, HS, bytes] : std::vector<Border>{
           {4, 128, 72832}, {8, 128, 76032}, {32, 128, 95232}, {4, 256, 72320}, {16, 256, 86528}}) {
    if (bytes > shared_memory_limit()) continue;
    const Problem problem = normal_problem({.Tq = rows, .Tk = 300, .HS = HS, .causal = false});
    const auto with = [&](int64_t limit) {
      const SmallSharedMemory small(limit);
      CHECK_FALSE(is_too_large_here(step, problem.shape));
      const DeviceBuffer<float> q(problem.q), k(problem.k), v(problem.v);
      DeviceBuffer<float> out(rows * HS), lse(rows), scratch(scratch_size(problem.shape));
      launch_step(step, problem.shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
                  workspace_in(scratch));
      return out.to_host();
    };
    CAPTURE(step.name, rows, HS, bytes);
    const std::vector<float> enough = with(bytes);
    CHECK((with(bytes + 1) == enough));
    CHECK((with(bytes - 1) != enough));
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
