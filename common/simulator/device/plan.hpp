// Launches that are planned and not run (common/backend/planned_launches.hpp).
#pragma once

#include "common/backend/planned_launches.hpp"
#include "common/simulator/device/device.hpp"
#include "simulator/launch_site.h"

namespace simulator {

/// The GPU that is planned for; null where launches run.
const Architecture* planned_architecture();
/// Then memory has no contents, and no work is done on it.
inline bool is_planning() {
  return planned_architecture() != nullptr;
}
/// What a launch asks for, in the words of the tests.
tutorial::PlannedLaunch described(const Launch& launch);
/// One that the device takes.
void plan_launch(const Launch& launch);

}  // namespace simulator
