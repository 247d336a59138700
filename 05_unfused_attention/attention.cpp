// What can be computed, and what is refused.
#include <limits>
#include <string>

#include "05_unfused_attention.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::unfused_attention {

void require_supported(const Attention& a) {
  const auto n = [](int64_t value) { return std::to_string(value); };
  if (a.C > 0 && (a.NH == 0 || a.C % a.NH != 0))
    throw Error(n(a.C) + " channels cannot be shared among " + n(a.NH) +
                " heads: give a --heads that divides --channels.");
  if (a.block_size < 32 || a.block_size > 1024 || a.block_size % 32 != 0)
    throw Error("A block of " + n(a.block_size) +
                " threads is not possible here: give a --block-size from 32 to 1024 that is a "
                "multiple of 32.");
  const double heads = static_cast<double>(a.B) * static_cast<double>(a.NH);
  if (heads > std::numeric_limits<int>::max() || a.T > std::numeric_limits<int>::max())
    throw Error(
        "cuBLAS counts in int, so --seq and --batch times --heads end at 2147483647: choose "
        "smaller sizes.");
}

void require_strides(const Attention& a) {
  if (3 * a.C > std::numeric_limits<int>::max())
    throw Error(
        "cuBLAS counts in int, so 3 times --channels ends at 2147483647 in this step: choose fewer "
        "channels.");
}

}  // namespace tutorial::unfused_attention
