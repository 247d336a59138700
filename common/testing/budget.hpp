// The budgets of exercises: how much of something a kernel may do.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "common/backend/backend.hpp"
#include "common/testing/testing.hpp"

namespace tutorial {

/// What the kernels that `launch` launches did, for check_budget(). Skips the test on a GPU, where
/// nothing is counted.
inline Counts counts_for_budget(const std::function<void()>& launch) {
  if (device_has_clock())
    SKIP("the budget is counted by the CPU backend: ./learn exercise --cpu looks at it");
  return counts_of(launch);
}

/// Fails where more was used than `budget` allows; `what` names it: "bank conflicts".
inline void check_budget(const std::string& what, int64_t used, int64_t budget) {
  if (used <= budget)
    SUCCEED();
  else
    FAIL_CHECK("over the budget: " << used << " " << what << ", and at most " << budget
                                   << " are enough");
}

}  // namespace tutorial
