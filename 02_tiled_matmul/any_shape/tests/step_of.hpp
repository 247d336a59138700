// For the tests of this part: its steps by their launchers, and part faster's checks.
#pragma once

#include <algorithm>
#include <string>

#include "any_shape/any_shape.hpp"
#include "faster/tests/check_step.hpp"

namespace tutorial::tiled_matmul::any_shape {

using faster::check_alpha_and_beta, faster::check_alpha_0;
using faster::check_step, faster::plain, faster::ScaledStep;

/// A launcher as one of part faster's: in the default stream, each time with a new workspace of so
/// many bytes, all poison.
inline ScaledStep with_workspace(
    const std::string& name, const std::function<Launcher>& launch,
    const std::function<int64_t(const ScaledProduct&, const float* B)>& bytes_of) {
  return {name, [=](const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                    float alpha, float beta) {
            const ScaledProduct product = {M, N, K, alpha, beta};
            DeviceBuffer<std::byte> memory(bytes_of(product, B));
            launch(product, A, B, C, workspace_in(memory), nullptr);
            CHECK(memory.guards_intact());
          }};
}

/// … of as many as workspace_bytes() says.
inline ScaledStep with_workspace(const Step<Launcher>& step) {
  return with_workspace(step.name, step.launch, [](const ScaledProduct& product, const float* B) {
    return workspace_bytes(product, B);
  });
}

inline Step<Launcher> step_of(Launcher* launch) {
  return runnable(*std::find_if(steps.begin(), steps.end(),
                                [&](const auto& step) { return step.launch == launch; }));
}

}  // namespace tutorial::tiled_matmul::any_shape
