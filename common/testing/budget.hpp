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

/// The same for sectors that warps have "loaded" or "stored"; says how many a request has, too.
inline void check_sectors(const std::string& what, const Traffic& traffic, int64_t budget) {
  if (traffic.sectors <= budget) {
    SUCCEED();
    return;
  }
  const auto per_request = [&](int64_t sectors) {
    return static_cast<double>(sectors) / static_cast<double>(traffic.requests);
  };
  FAIL_CHECK("over the budget: " << traffic.sectors << " sectors " << what << ", and at most "
                                 << budget << " are enough; a warp's request has "
                                 << per_request(traffic.sectors) << " on average, "
                                 << per_request(budget) << " would do");
}

}  // namespace tutorial
