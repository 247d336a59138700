// What the kernels ask global memory for, beside what they say.
#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

/// "The masks' bytes more": by each thread the block's byte, its own two at most, 64 elements'.
int64_t bytes_of_masks(const Step<Launcher>& step, const Problem& problem) {
  const MaskedBmm& p = problem.p;
  if (step.launch == bmm_then_fill) return 0;
  const int64_t blocks = p.batch * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
  return 256 * (blocks + (2 + 64) * live_blocks(p, problem.mask, BLOCK).count);
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& s : {Shape{1, 128, 256, 16}, {2, 130, 141, 19}, {1, 200, 300, 4}}) {
    for (const std::string kind : {"causal", "window:20"}) {
      if (!is_in_sample(step.name)) continue;
      CAPTURE(s.batch, s.M, s.N, kind);
      const auto problem_of = [&](int64_t K) {
        return Problem({s.batch, s.M, s.N, K},
                       make_mask(kind, s.batch, s.M, s.N, kind[0] == 'w', 5));
      };
      const Counts counts = check_asked_for_two_K(
          step, s.K, problem_of,
          [&](const Problem& problem) { return bytes_of_masks(step, problem); });
      CHECK(counts.shared_stores.conflicts == 0);
      if (step.launch == bmm_then_fill || step.launch == three_level_mask) continue;
      check_no_conflicts(counts);
      if (s.N % 8 == 0) check_stores_fill_sectors(counts);
    }
  }
}

TEST_CASE("what is built from a mask asks for what its header says", "[counts]") {
  for (const auto& [masks, M, N] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 128, 128}, {3, 130, 261}, {2, 7, 300}}) {
    CAPTURE(masks, M, N);
    MaskedBmm p{.batch = masks, .M = M, .N = N};
    DeviceMasks device(p, make_mask("random:0.5", masks, M, N, masks > 1, 3));
    check_asked_for(coarse_masks_ask(p), [&] {
      build_coarse_masks(p, device.block_mask.data(), device.thread_mask.data());
    });
  }
}

}  // namespace
}  // namespace tutorial::masked_bmm
