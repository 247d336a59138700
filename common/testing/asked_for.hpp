// What a step says that its kernels ask global memory for, beside what they ask for.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/kernel/step.hpp"
#include "common/testing/testing.hpp"

namespace tutorial {

/// What the words beside a formula allow, in bytes: "less at the edges" is exactly so much less,
/// "the list more" at most so much more.
struct Allowance {
  int64_t less = 0, more = 0;
};

/// Compares what each kernel that `launch` launches asks global memory for with `asked`: a
/// kernel without an entry is a failure. Gives all that they did. Skips the test on a GPU, where
/// nothing is counted.
Counts check_asked_for(const std::vector<Asked>& asked, const std::function<void()>& launch,
                       Allowance loads = {}, Allowance stores = {});
/// The same of a step: `call` calls the function that it is given, the step's launcher or its
/// `asked`, with all that a launcher takes. Nothing is done by a step that is not in the sample.
template <class AnyStep, class Call>
auto check_asked_for(const AnyStep& step, const Call& call, Allowance loads = {},
                     Allowance stores = {}) -> decltype(void(step.asked), Counts()) {
  if (!step.asked) FAIL("the list of steps names no .asked");
  if (!is_in_sample(step.name)) return {};
  return check_asked_for(
      call(step.asked), [&] { call(step.launch); }, loads, stores);
}

/// What all kernels loaded beyond the formula, in bytes.
int64_t loads_beyond(const std::vector<Asked>& asked, const Counts& counts);

/// What a step or its page promises: no request to shared memory takes a pass more because lanes
/// want different words of one bank.
void check_no_conflicts(const Counts& counts);
/// … no store to global memory touches a sector that it does not fill.
void check_stores_fill_sectors(const Counts& counts);

}  // namespace tutorial
