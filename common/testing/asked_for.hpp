// The formulas in the steps' headers, "asked for …", beside what the kernels ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"

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
requires requires(const AnyStep& step) {
  step.asked;
}
void check_asked_for(const AnyStep& step, const Call& call, Allowance loads = {},
                     Allowance stores = {}) {
  check_asked_for(
      call(step.asked), [&] { call(step.launch); }, loads, stores);
}

/// Compares what each kernel that `launch` launches asks global memory for with what its file's
/// header says (common/program/cost_model.hpp). `symbols` are the letters there. A kernel without a
/// formula is a failure. Skips the test on a GPU, where nothing is counted.
void check_asked_for(const std::map<std::string, int64_t>& symbols,
                     const std::function<void()>& launch, Allowance loads = {},
                     Allowance stores = {});

}  // namespace tutorial
