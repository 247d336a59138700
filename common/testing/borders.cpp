#include "common/testing/borders.hpp"

#include <catch2/catch_test_macros.hpp>

#include "common/backend/planned_launches.hpp"
#include "common/kernel/device.hpp"

namespace tutorial {

std::string kernels_of(const std::function<void()>& launch) {
  if (planned_capabilities().empty()) SKIP("only the simulator knows what would be launched");
  std::string names;
  for (const PlannedLaunch& planned : plan_launches(compute_capability(), launch))
    names += planned.kernel + "\n";
  return names;
}

}  // namespace tutorial
