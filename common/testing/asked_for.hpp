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
/// kernel without an entry is a failure. Skips the test on a GPU, where nothing is counted.
void check_asked_for(const std::vector<Asked>& asked, const std::function<void()>& launch,
                     Allowance loads = {}, Allowance stores = {});
/// The same of a step: `call` calls the function that it is given, the step's launcher or its
/// `asked`, with all that a launcher takes.
template <class AnyStep, class Call>
auto check_asked_for(const AnyStep& step, const Call& call, Allowance loads = {},
                     Allowance stores = {}) -> decltype(void(step.asked)) {
  if (!step.asked) FAIL("the list of steps names no .asked");
  if (!is_in_sample(step.name)) return;
  check_asked_for(
      call(step.asked), [&] { call(step.launch); }, loads, stores);
}

}  // namespace tutorial
