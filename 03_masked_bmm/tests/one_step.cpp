// What single steps promise besides.
#include "masked_products.hpp"
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

// Copies and stores of 16 bytes or of 4, of one piece of K or of several, whole or not.
TEST_CASE("every way to copy and to store") {
  check_ways<Problem>(EACH_STEP(steps_with({whole_sectors, wide_copies, four_blocks})));
}

}  // namespace
}  // namespace tutorial::masked_bmm
