// What a launcher would launch on one GPU or another. The CPU backend knows it
// (common/simulator/device/plan.cpp); a GPU is only itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tutorial {

struct PlannedLaunch {
  /// "tutorial::softmax::(anonymous namespace)::row_on_chip_kernel<1024>"; only what stands before
  /// <<< where the template arguments are deduced.
  std::string kernel;
  int64_t grid[3] = {}, block[3] = {}, cluster[3] = {};
  int64_t static_shared = 0, dynamic_shared = 0;  // bytes of a block

  int64_t threads() const { return block[0] * block[1] * block[2]; }
  int64_t shared() const { return static_shared + dynamic_shared; }
};

/// The GPUs that can be asked about, by compute capability (75: 7.5); none on a GPU.
std::vector<int> planned_capabilities();

/// What `launches` would launch on a GPU of this compute capability. There, each launch is checked
/// as ever, and not run; global memory is addresses alone, of which no problem has too few, and
/// what is copied from there is 0. Throws what `launches` throws.
std::vector<PlannedLaunch> plan_launches(int capability, const std::function<void()>& launches);

}  // namespace tutorial
