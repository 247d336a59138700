// Helpers for the chapters' Catch2 tests. Link with the CMake target `tutorial_testing`, whose
// main() checks that the backend can run and prints the device.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/check.hpp"
#include "common/compare.hpp"
#include "common/device_buffer.hpp"
#include "common/random.hpp"
#include "common/step.hpp"

namespace tutorial {

/// Skips the test, with the reason, when this step cannot run on the backend at hand. The closing
/// summary counts these.
template <class Launcher>
void skip_unless_runnable(const Step<Launcher>& step) {
  const std::string reason = why_not_here(step.needs);
  if (!reason.empty()) SKIP(step.name << ": " << reason);
}

/// Runs `launch` on a poisoned, guarded output and compares. `offset` (in floats) misaligns the
/// output. `initial`, if not empty, is what the output holds before the launch (for beta != 0).
/// Reports the comparison, a launch error and damaged guard zones as test failures.
void check_launch(const std::function<void(float*)>& launch, const Expected& want,
                  const Layout& layout, int64_t offset = 0, const std::vector<float>& initial = {});

}  // namespace tutorial
