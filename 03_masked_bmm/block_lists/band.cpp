// Which of the masks that --mask names are bands.
#include <algorithm>

#include "block_lists/block_lists.hpp"

namespace tutorial::masked_bmm::block_lists {

std::optional<Band> band_of(const std::string& kind, int64_t M, int64_t N) {
  const int64_t shift = N - M, beyond = M + N;  // no j - i lies beyond this
  if (kind == "none") return Band{-beyond, beyond};
  if (kind == "causal") return Band{std::min(-beyond, shift), shift};
  if (!kind.starts_with("window:")) return std::nullopt;
  const int64_t width = std::stoll(kind.substr(kind.find(':') + 1));
  return Band{shift - std::min(width, 2 * beyond + 1) + 1, shift};
}

}  // namespace tutorial::masked_bmm::block_lists
