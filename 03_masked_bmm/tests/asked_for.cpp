// What the kernels ask global memory for, beside the formulas in their headers.
#include "common/testing/asked_for.hpp"

#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

/// What the words in a header allow: less where a live block reaches over an edge of C, and the
/// masks' bytes more.
struct Stated {
  int64_t live = 0;  // blocks that keep something
  Allowance loads;
};

Stated words_of(const Step<Launcher>& step, const Problem& problem) {
  const MaskedBmm& p = problem.p;
  const bool half_blocks = step.launch == four_blocks;
  Stated words;
  const LiveBlocks live = live_blocks(p, problem.mask, half_blocks ? BLOCK / 2 : BLOCK);
  words.live = live.count;
  if (step.launch == bmm_then_fill) return words;
  words.loads.less = 4 * p.K * live.beyond_edges;
  const int64_t blocks = p.batch * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
  // By each thread: the block's byte, its own two at most, 64 elements'.
  words.loads.more = 256 * (blocks + (2 + 64) * words.live);
  return words;
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& s : {Shape{1, 128, 256, 16}, {2, 130, 141, 19}, {1, 200, 300, 4}}) {
    for (const char* kind : {"causal", "window:20"}) {
      CAPTURE(step.name, s.batch, s.M, s.N, s.K, kind);
      Problem problem(s, make_mask(kind, s.batch, s.M, s.N, false, 5));
      const Stated words = words_of(step, problem);
      const int64_t size = s.batch * s.M * s.N;
      DeviceBuffer<float> C(size);
      check_asked_for(
          {{"B", s.batch},
           {"M", s.M},
           {"N", s.N},
           {"K", s.K},
           {"live", words.live},
           {"masked", size - s.batch * std::ranges::count(problem.mask.keep, 1)}},
          [&] {
            step.launch(problem.p, problem.device_A.data(), problem.device_B.data(), C.data());
          },
          words.loads);
    }
  }
}

TEST_CASE("what is built from a mask asks for what its header says", "[counts]") {
  for (const auto& [masks, M, N] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 128, 128}, {3, 130, 261}, {2, 7, 300}}) {
    CAPTURE(masks, M, N);
    MaskedBmm p{.batch = masks, .M = M, .N = N};
    DeviceMasks device(p, make_mask("random:0.5", masks, M, N, masks > 1, 3));
    const std::map<std::string, int64_t> symbols = {{"masks", masks}, {"M", M}, {"N", N}};
    check_asked_for(symbols, [&] {
      build_coarse_masks(p, device.block_mask.data(), device.thread_mask.data());
    });
  }
}

}  // namespace
}  // namespace tutorial::masked_bmm
