// For the tests of this part: its steps by their launchers, and part faster's checks.
#pragma once

#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "faster/tests/check_step.hpp"

namespace tutorial::tiled_matmul::any_shape {

using faster::check_alpha_and_beta, faster::check_alpha_0;
using faster::check_product, faster::check_step, faster::plain;

inline Step<Launcher> step_of(Launcher* launch) {
  return runnable(*std::find_if(steps.begin(), steps.end(),
                                [&](const auto& step) { return step.launch == launch; }));
}

}  // namespace tutorial::tiled_matmul::any_shape
