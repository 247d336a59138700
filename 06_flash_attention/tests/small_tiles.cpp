// Steps 11 to 17 have a tile for 99 KB of shared memory a block and one for 64 KB.
#include <algorithm>
#include <iterator>

#include "attention_problems.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::flash_attention {
namespace {

bool has_larger_tiles(const Step<Launcher>& step) {
  constexpr Launcher* larger[] = {larger_tiles,   less_work,  read_ahead, spread_copies,
                                  outer_products, head_sizes, large_heads};
  return std::ranges::find(larger, step.launch) != std::end(larger);
}

TEST_CASE("small tiles are right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (!has_larger_tiles(step)) return;
  for (int64_t bytes : {64 * 1024, 99 * 1024}) {
    INFO("with " << bytes << " bytes of shared memory a block");
    const SmallSharedMemory small(bytes);
    const int64_t largest = largest_head_size(step);
    for (int64_t HS : {20, 64, 80, 101, 128, 136, 184, 256}) {
      if (HS > largest) continue;
      CHECK_FALSE(is_too_large_here(step, {.HS = HS}));
      // Tails everywhere; queries without keys; grouped heads; and nothing masked.
      check_step(step, normal_problem({.Tq = 70, .Tk = 150, .HS = HS}));
      check_step(step, normal_problem({.Tq = 9, .Tk = 3, .HS = HS}));
      check_step(step, normal_problem(
                           {.NH = 2, .NH_kv = 1, .Tq = 33, .Tk = 65, .HS = HS, .causal = false}));
    }
  }
}

// Of the grid one sees which tile was taken: it has a block for each Br queries.
TEST_CASE("the largest tile that fits is taken, on both sides of each border") {
  const auto step = EACH_STEP(steps);
  struct Border {
    Launcher* launch;
    int64_t HS, bytes, Br, smaller_Br;  // what the tile of Br queries needs; the next one's queries
  };
  for (const Border& border : std::initializer_list<Border>{{larger_tiles, 64, 94208, 128, 64},
                                                            {larger_tiles, 128, 210944, 128, 64},
                                                            {outer_products, 64, 103424, 128, 64},
                                                            {outer_products, 128, 204800, 128, 64},
                                                            {outer_products, 128, 70656, 64, 32},
                                                            {head_sizes, 80, 177408, 128, 64},
                                                            {large_heads, 256, 204800, 128, 32},
                                                            {large_heads, 256, 81920, 32, 16}}) {
    if (border.launch != step.launch) continue;
    const Attention shape = {.Tq = border.Br, .Tk = 1, .HS = border.HS, .causal = false};
    const auto blocks_fit = [&](int64_t most) {
      const SmallGrid grid(most, 1);
      try {
        const Problem problem = normal_problem(shape);
        const DeviceBuffer<float> q(problem.q), k(problem.k), v(problem.v);
        DeviceBuffer<float> out(shape.rows() * shape.HS), lse(shape.rows());
        step.launch(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    INFO(step.name << ", head size " << border.HS << ", " << border.bytes << " bytes");
    if (shared_memory_limit() < border.bytes) continue;
    const int64_t more = border.Br / border.smaller_Br;
    {
      const SmallSharedMemory enough(border.bytes);
      CHECK(blocks_fit(1));
    }
    {
      const SmallSharedMemory too_small(border.bytes - 1);
      CHECK_FALSE(blocks_fit(more - 1));
      CHECK(blocks_fit(more));
    }
  }
}

}  // namespace
}  // namespace tutorial::flash_attention
