#include <algorithm>
#include <utility>

#include "block_lists/device_lists.hpp"

namespace tutorial::masked_bmm::block_lists {

Comparison check_lists(const MaskedBmm& p, const Mask& mask, const DeviceLists& device,
                       const Seen& seen) {
  Comparison result;
  const auto count_wrong = [&](const char* what, const auto& got, const auto& want) {
    std::vector<float> is_right;
    for (size_t e = 0; e < want.size(); ++e) is_right.push_back(got[e] == want[e] ? 1 : 0);
    is_right = seen(std::move(is_right));
    const int64_t wrong = std::ranges::count_if(is_right, [](float right) { return right != 1; });
    if (wrong > 0)
      result.report += "  " + std::string(what) + " wrong: " + std::to_string(wrong) + " of " +
                       std::to_string(want.size()) + "\n";
    result.wrong += wrong;
  };
  count_wrong("words", device.words.to_host(), mask_words_reference(mask, p.M, p.N));
  count_wrong("states of blocks", device.states.to_host(),
              coarse_mask_reference(mask, p.M, p.N, BLOCK));
  count_wrong("entries of the list", device.list.to_host(), block_list_reference(mask, p.M, p.N));
  result.ok = result.wrong == 0;
  return result;
}

}  // namespace tutorial::masked_bmm::block_lists
