// The steps here, and two of part any_shape, have a tile for 99 KB of shared memory a block and one
// for 64 KB.
#pragma once

#include "common/kernel/shared_memory.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

template <class Launcher>
void check_small_tiles(const Step<Launcher>& step) {
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

template <class Launcher>
struct Border {
  Launcher* launch;
  int64_t HS, bytes, Br, smaller_Br;  // what the tile of Br queries needs; the next one's queries
};
/// The largest tile that fits is taken, on both sides of the border. Of the grid one sees which
/// tile was taken: it has a block for each Br queries.
template <class Launcher>
void check_border(const Step<Launcher>& step, const Border<Launcher>& border) {
  const Attention shape = {.Tq = border.Br, .Tk = 1, .HS = border.HS, .causal = false};
  const auto blocks_fit = [&](int64_t most) {
    const SmallGrid grid(most, 1);
    try {
      const Problem problem = normal_problem(shape);
      const DeviceBuffer<float> q(problem.q), k(problem.k), v(problem.v);
      DeviceBuffer<float> out(shape.rows() * shape.HS), lse(shape.rows());
      launch_step(step, shape, q.data(), k.data(), v.data(), out.data(), lse.data(), {});
      CUDA_CHECK(cudaDeviceSynchronize());
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  INFO(step.name << ", head size " << border.HS << ", " << border.bytes << " bytes");
  if (shared_memory_limit() < border.bytes) return;
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

}  // namespace tutorial::flash_attention
