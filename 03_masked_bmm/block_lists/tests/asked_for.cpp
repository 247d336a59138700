// What the kernels ask global memory for, beside what they say.
#include "block_lists/tests/problem.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

/// "The words and the list more".
int64_t bytes_of_lists(const Step<Launcher>& step, const Problem& problem) {
  const ListedBmm& p = problem.p;
  const int64_t live = live_blocks(p, problem.mask, BLOCK).count;
  const int64_t blocks = p.batch * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK);
  if (step.launch == mask_words)  // by each thread: an entry of the list, its word twice
    return 256 * (16 * blocks + 2 * 8 * live);
  if (step.launch == small_tiles || step.launch == overlapped_tiles)  // by a thread; by each
    return 2 * 16 * blocks + 256 * 8 * live;
  return 0;
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& s : {Shape{1, 128, 256, 16}, {2, 130, 141, 19}, {1, 200, 300, 4}}) {
    for (const char* kind : {"causal", "window:20", "none"}) {
      if (!is_in_sample(step.name)) continue;
      CAPTURE(s.batch, s.M, s.N, kind);
      const auto problem_of = [&](int64_t K) {
        Problem problem({s.batch, s.M, s.N, K}, make_mask(kind, s.batch, s.M, s.N, false, 5));
        problem.p.band = band_of(kind, s.M, s.N);
        return problem;
      };
      const Counts counts = check_asked_for_two_K(
          step, s.K, problem_of,
          [&](const Problem& problem) { return bytes_of_lists(step, problem); });
      CHECK(counts.shared_stores.conflicts == 0);
      if (step.launch == mask_words) continue;
      // Operands have none; words do, which nobody reads where all is kept and no edge is near.
      if (kind == std::string("none") && s.M % 64 == 0 && s.N % 128 == 0)
        check_no_conflicts(counts);
      if (s.N % 8 == 0) check_stores_fill_sectors(counts);
    }
  }
}

TEST_CASE("what is built from a mask asks for what its header says", "[counts]") {
  for (const auto& [masks, M, N] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 128, 128}, {3, 130, 261}, {2, 7, 300}}) {
    CAPTURE(masks, M, N);
    ListedBmm p;
    p.batch = masks, p.M = M, p.N = N;
    DeviceLists device(p, make_mask("random:0.5", masks, M, N, masks > 1, 3));
    check_asked_for(mask_words_and_list_ask(p), [&] {
      build_mask_words(p, device.words.data(), device.states.data(), device.list.data());
    });
  }
}

}  // namespace
}  // namespace tutorial::masked_bmm::block_lists
