// How far a launch is, asked while its blocks run.
#include <atomic>
#include <catch2/catch_test_macros.hpp>

#include "common/backend/backend.hpp"
#include "common/kernel/check.hpp"

namespace {

std::atomic<int64_t> most_done, blocks_seen, launches_seen;

void look() {
  const tutorial::LaunchProgress at = tutorial::launch_progress();
  launches_seen = at.launches;
  blocks_seen = at.blocks;
  for (int64_t most = most_done;
       at.done > most && !most_done.compare_exchange_weak(most, at.done);) {
  }
}

__global__ void asks() {
  look();
}

TEST_CASE("a launch tells how many of its blocks are done") {
  const tutorial::LaunchProgress before = tutorial::launch_progress();
  CHECK((before.done == 0 && before.blocks == 0));
  most_done = 0;
  asks<<<dim3(20, 5, 2), 1>>>();
  CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(launches_seen == before.launches + 1);
  CHECK(blocks_seen == 200);
  CHECK(most_done >= 200 - 2 * 16);  // at most 16 cores are in the midst of one
  CHECK(most_done < 200);            // a block that asks is not done
  const tutorial::LaunchProgress after = tutorial::launch_progress();
  CHECK((after.done == 0 && after.blocks == 0 && after.launches == before.launches + 1));
}

}  // namespace
