// What single steps promise besides.
#include "block_lists/tests/problem.hpp"
#include "tests/masked_products.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

// K that is in shared memory at once (up to 64), or not.
TEST_CASE("every way of small_tiles and overlapped_tiles") {
  check_ways<Problem>(EACH_STEP(steps_with({small_tiles, overlapped_tiles})));
}

TEST_CASE("closed_form reads no mask, no words and no list") {
  const auto step = EACH_STEP(steps_with({closed_form}));
  for (const Shape& s : {Shape{2, 130, 141, 19},
                         {1, 300, 280, 4},
                         {2, 40, 200, 36},
                         {2, 260, 12, 8},
                         {1, 64, 132, 68},
                         {2, 1, 1, 3}}) {
    for (const char* kind :
         {"none", "causal", "window:1", "window:20", "window:128", "window:9223372036854775807"}) {
      CAPTURE(s.batch, s.M, s.N, s.K, kind);
      for (bool per_batch : {false, true}) {
        Problem problem(s, make_mask(kind, s.batch, s.M, s.N, per_batch, 5));
        problem.p.band = band_of(kind, s.M, s.N);
        problem.p.mask = nullptr;
        problem.p.mask_words = nullptr;
        problem.p.block_list = nullptr;
        problem.check(step);
      }
    }
  }
}

TEST_CASE("more matrices than a grid's y has blocks, and one mask for all", "[large]") {
  const auto step = EACH_STEP(steps_with({mask_words, small_tiles, overlapped_tiles, closed_form}));
  if (!device_has_clock()) SKIP("131074 blocks would take the simulator too long");
  const int64_t batch = grid_limit.y + 2, K = 3;
  const bool is_band = step.launch == closed_form;
  const int64_t N = is_band ? 257 : 2;
  const std::string kind = is_band ? "window:1" : "random:0.5";
  Problem problem({batch, 1, N, K}, make_mask(kind, 1, 1, N, false, 8));
  problem.p.band = band_of(kind, 1, N);
  problem.check(step);
}

}  // namespace
}  // namespace tutorial::masked_bmm::block_lists
