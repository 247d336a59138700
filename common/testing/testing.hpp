// Helpers for the chapters' Catch2 tests. Link with the CMake target `tutorial_testing`, whose
// main() checks that the backend can run and prints the device.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/backend/profile.hpp"
#include "common/compare/compare.hpp"
#include "common/data/device_buffer.hpp"
#include "common/data/narrow.hpp"
#include "common/data/random.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"
#include "common/kernel/step.hpp"

namespace tutorial {

/// A step of which a test was to be run on this backend, and was not. The program's closing summary
/// names it.
void note_skipped_step(const std::string& name, const std::string& reason);

/// The one step that is to be tested, from TUTORIAL_STEP in the environment; "" for all.
std::string wanted_step();

/// Is the step in TUTORIAL_EDITED, a list of names with commas between?
bool is_edited(const std::string& step);
/// Is the step's next launch to be checked? All are, but where TUTORIAL_SAMPLE is 3, say, one in
/// three, each day others: where the tests of all chapters run, where the step passed and is as it
/// was, or where the same tests run again in another order or on another device. Of an edited step
/// all are, and with TUTORIAL_ALL (`./learn test --all`) all of all steps.
bool is_in_sample(const std::string& step = "");

/// The steps that can run on the backend at hand, and are wanted, edited ones first; skips the test
/// when there are none.
template <class Launcher>
std::vector<Step<Launcher>> runnable(const std::vector<Step<Launcher>>& list) {
  std::vector<Step<Launcher>> here;
  for (const auto& step : list) {
    if (!wanted_step().empty() && wanted_step() != step.name) continue;
    const std::string reason = why_not_here(step.needs);
    if (reason.empty())
      here.push_back(step);
    else
      note_skipped_step(step.name, reason);
  }
  if (here.empty()) SKIP("none of its steps can run here, or is wanted");
  std::ranges::stable_partition(here, [](const auto& step) { return is_edited(step.name); });
  return here;
}
/// The same of one step.
template <class Launcher>
Step<Launcher> runnable(const Step<Launcher>& step) {
  return runnable(std::vector{step}).front();
}

/// In a TEST_CASE: runs what follows once for each step of `list`, which may be a temporary.
///
///   const auto step = EACH_STEP(steps);
#define EACH_STEP(list) GENERATE_COPY(from_range(::tutorial::runnable(list)))

/// May a block have less shared memory on this device than on an H100?
bool is_smaller_than_h100();
/// Does the step's launcher say that this device is too small for what `launch` asks of it? The
/// program's closing summary then names the step. The sizes in tests are for an H100's shared
/// memory: on a device that has as much, a launcher that says so is wrong, and what it throws goes
/// on.
bool is_device_too_small(const std::string& step, const std::function<void()>& launch);

/// What the kernels that `launch` launches did, all together; on a GPU nothing is counted. Ends the
/// test where a kernel fails.
Counts counts_of(const std::function<void()>& launch);

/// As long as it lives, launchers take grids for smaller than they can be: so even a small problem
/// has blocks with several rows to do, one after another, and takes several launches.
class SmallGrid {
 public:
  SmallGrid(int64_t x, int64_t y) : before_(std::exchange(grid_limit, {.x = x, .y = y})) {}
  ~SmallGrid() { grid_limit = before_; }
  SmallGrid(const SmallGrid&) = delete;

 private:
  const GridLimit before_;
};

/// As long as it lives, launchers take the device to allow no more than `bytes` of shared memory a
/// block: so tiles for smaller devices run on every device.
class SmallSharedMemory {
 public:
  explicit SmallSharedMemory(int64_t bytes) : before_(std::exchange(shared_memory_cap, bytes)) {}
  ~SmallSharedMemory() { shared_memory_cap = before_; }
  SmallSharedMemory(const SmallSharedMemory&) = delete;

 private:
  const int64_t before_;
};

/// As long as it lives, launchers take the device to have no more than `count` multiprocessors: so
/// even a small problem has more tiles than those.
class FewMultiprocessors {
 public:
  explicit FewMultiprocessors(int count) : before_(std::exchange(multiprocessor_cap, count)) {}
  ~FewMultiprocessors() { multiprocessor_cap = before_; }
  FewMultiprocessors(const FewMultiprocessors&) = delete;

 private:
  const int before_;
};

/// 0, 1, …, count - 1: all rows, for references that compute the rows they are asked for.
std::vector<int64_t> all_rows(int64_t count);

/// Runs `launch` on a poisoned, guarded output and compares. `offset` (in elements) misaligns
/// the output. `initial`, if not empty, is what the output holds before the launch (for beta != 0).
/// Reports the comparison, a launch error and damaged guard zones as test failures.
void check_launch(const std::function<void(float*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset = 0, const std::vector<float>& initial = {});
/// The same for an output in bf16: `want` is what in_bf16() makes of the reference.
void check_launch(const std::function<void(__nv_bfloat16*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset = 0);
/// … in fp16, of in_fp16().
void check_launch(const std::function<void(__half*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset = 0);

}  // namespace tutorial
