// What single steps promise besides.
#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

TEST_CASE("three_level_mask does not do the work that the coarse masks save") {
  const auto work_of = [](Problem& problem) {
    DeviceBuffer<float> C(problem.p.batch * problem.p.M * problem.p.N);
    return counts_of([&] {
      three_level_mask(problem.p, problem.device_A.data(), problem.device_B.data(), C.data());
    });
  };
  if (device_has_clock()) SKIP("only the simulator counts loads");

  Problem none({2, 128, 256, 16}, make_mask("random:0", 2, 128, 256, false, 0));
  Counts work = work_of(none);
  CHECK(work.loads.bytes <= 4 * 256);  // 4 blocks of 256 threads, a byte of block mask each
  CHECK(work.shared_loads.lanes == 0);
  CHECK(work.barriers == 0);

  // One thread works, of the 256 that load: 8 + 8 floats for each k.
  Problem one({1, 128, 256, 16}, mask_where(1, 128, 256, [](int64_t, int64_t i, int64_t j) {
                return i / 8 == 3 && j / 8 == 5;
              }));
  work = work_of(one);
  CHECK(work.shared_loads.lanes == 16 * 16);
  CHECK(work.shared_stores.lanes == 16 * 256);
}

// Copies and stores of 16 bytes or of 4; K that is in shared memory at once (up to 64), or not.
TEST_CASE("every way of small_tiles and overlapped_tiles") {
  const auto step = EACH_STEP(steps_with({small_tiles, overlapped_tiles}));
  for (int64_t K : {1, 4, 30, 32, 36, 64, 65, 68, 96, 97, 132, 160}) {
    for (int64_t N : {132, 133}) {
      CAPTURE(K, N);
      Problem({2, 70, N, K}, patterned(2, 70, N)).check(step);
    }
  }
  const int64_t K = 36, N = 132;  // one of the three off its alignment
  Problem problem({1, 70, N, K}, patterned(1, 70, N));
  problem.device_A = DeviceBuffer<float>(problem.A, 1);
  problem.check(step);
  problem.upload();
  problem.device_B = DeviceBuffer<float>(problem.B, 2);
  problem.check(step);
  problem.upload();
  problem.check(step, 3);
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
}  // namespace tutorial::masked_bmm
