// A problem for the part's steps.
#pragma once

#include <algorithm>
#include <vector>

#include "block_lists/device_lists.hpp"
#include "tests/masked.hpp"

namespace tutorial::masked_bmm::block_lists {

inline void from_reference(DeviceLists& device, const MaskedBmm& p, const Mask& mask) {
  device.words.from_host(mask_words_reference(mask, p.M, p.N));
  device.list.from_host(block_list_reference(mask, p.M, p.N));
}
using Problem = ProblemOn<ListedBmm, DeviceLists>;

/// Those of the part's steps that have these launchers.
inline std::vector<Step<Launcher>> steps_with(const std::vector<Launcher*>& launchers) {
  std::vector<Step<Launcher>> some;
  for (const auto& step : steps)
    if (std::ranges::count(launchers, step.launch) > 0) some.push_back(step);
  return some;
}

}  // namespace tutorial::masked_bmm::block_lists
