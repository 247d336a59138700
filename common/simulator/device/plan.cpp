#include "common/simulator/device/plan.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "common/simulator/world/symbols.hpp"

namespace simulator {
namespace {

std::atomic<const Architecture*> planned = nullptr;
std::mutex mutex;
std::vector<tutorial::PlannedLaunch> launches;

/// What a plan leaves must not meet what runs after it, nor the next plan: allowances of kernels,
/// allocations, errors.
struct Planning {
  explicit Planning(const Architecture& architecture) {
    launches.clear();
    forget_allowances();
    planned = &architecture;
  }
  ~Planning() {
    planned = nullptr;
    forget_allowances();
    forget_planned_memory();
    cudaGetLastError();
  }
};

void copy(const dim3& size, int64_t (&to)[3]) {
  to[0] = size.x;
  to[1] = size.y;
  to[2] = size.z;
}

}  // namespace

const Architecture* planned_architecture() {
  return planned;
}

tutorial::PlannedLaunch described(const Launch& launch) {
  tutorial::PlannedLaunch made;
  made.kernel = scoped_function_name(launch.address);
  if (made.kernel.empty()) made.kernel = launch.kernel;
  copy(launch.grid, made.grid);
  copy(launch.block, made.block);
  copy(launch.cluster, made.cluster);
  made.static_shared = static_cast<int64_t>(static_shared_bytes(launch.address));
  made.dynamic_shared = static_cast<int64_t>(launch.dynamic_shared);
  return made;
}

void plan_launch(const Launch& launch) {
  const std::lock_guard lock(mutex);
  launches.push_back(described(launch));
}

}  // namespace simulator

using namespace simulator;

std::vector<int> tutorial::planned_capabilities() {
  std::vector<int> all;
  for (const Architecture& one : architectures()) all.push_back(one.capability);
  return all;
}

std::vector<tutorial::PlannedLaunch> tutorial::plan_launches(int capability,
                                                             const std::function<void()>& plan) {
  const Planning planning(
      *std::ranges::find(architectures(), capability, &Architecture::capability));
  plan();
  const std::lock_guard lock(mutex);
  return launches;
}
