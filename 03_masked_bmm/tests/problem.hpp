// A problem for the chapter's own steps.
#pragma once

#include <algorithm>
#include <vector>

#include "device_masks.hpp"
#include "masked.hpp"

namespace tutorial::masked_bmm {

inline void from_reference(DeviceMasks& device, const MaskedBmm& p, const Mask& mask) {
  device.block_mask.from_host(coarse_mask_reference(mask, p.M, p.N, BLOCK));
  device.thread_mask.from_host(coarse_mask_reference(mask, p.M, p.N, PATCH));
}
using Problem = ProblemOn<MaskedBmm, DeviceMasks>;

/// Those of the chapter's steps that have these launchers.
inline std::vector<Step<Launcher>> steps_with(const std::vector<Launcher*>& launchers) {
  std::vector<Step<Launcher>> some;
  for (const auto& step : steps)
    if (std::ranges::count(launchers, step.launch) > 0) some.push_back(step);
  return some;
}

}  // namespace tutorial::masked_bmm
