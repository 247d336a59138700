// The options of a chapter's program that switch checks off and shuffle the order of threads.
#include "common/simulator/tests/only_cpu/outcome.hpp"
#include "common/tests/program/copies.hpp"

using namespace tutorial::copies;

namespace {

/// Right values in the end, but every element is written by two threads.
__global__ void writes_twice(float* C, int count) {
  const int i = static_cast<int>(threadIdx.x) % count;
  C[i] = static_cast<int>(threadIdx.x) < count ? 0.0f : 0.5f * static_cast<float>(i);
}
/// Right values only where threads come in the order of their numbers.
__global__ void counts_up(int* next, float* C) {
  C[threadIdx.x] = 0.5f * static_cast<float>(atomicAdd(next, 1));
}

const tutorial::Step<Launcher> kTwice = {.name = "twice",
                                         .launch =
                                             [](float* C, int64_t count) {
                                               writes_twice<<<1, 2 * static_cast<int>(count)>>>(
                                                   C, static_cast<int>(count));
                                               CUDA_CHECK_LAUNCH();
                                             },
                                         .idea = "writes each element twice"};
const tutorial::Step<Launcher> kCounts = {
    .name = "counts",
    .launch =
        [](float* C, int64_t count) {
          tutorial::DeviceBuffer<int> next(std::vector<int>(1, 0));
          counts_up<<<1, static_cast<int>(count)>>>(next.data(), C);
          CUDA_CHECK_LAUNCH();
        },
    .idea = "needs one order"};

}  // namespace

TEST_CASE("The option --no-checks switches the checks off", "[options]") {
  const Restored restored;
  simulator::switch_checks(true);
  simulator::set_thread_order(0);
  CHECK(run_copies({}, {kTwice}).status == 1);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("race in writes_twice"));
  CHECK(run_copies({"--no-checks"}, {kTwice}).status == 0);
  CHECK_THAT(run_copies({"--help"}).out, ContainsSubstring("--no-checks"));
}

TEST_CASE("The option --thread-order shuffles the order of threads", "[options]") {
  const Restored restored;
  CHECK(run_copies({"--thread-order", "0"}, {kCounts}).status == 0);
  CHECK(run_copies({"--thread-order", "7"}, {kCounts}).status == 1);
  check_refused(run_copies({"--thread-order", "-1"}, {kCounts}), {"--thread-order", "-1"});
}
