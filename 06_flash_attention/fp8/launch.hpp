// What launchers of this part look at and make before they launch.
#pragma once

#include <cstdint>

#include "common/kernel/check.hpp"
#include "fp8/fp8.hpp"
#include "hopper/launch.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::fp8 {

using hopper::with_padded_head_size;

/// Throws Error for what no step takes; fp8.hpp says what.
void require_supported(const Attention& shape, const char* step, const e4m3* q, const e4m3* k,
                       const e4m3* v, const bf16* out);

/// The tensor maps of q: (heads, Tq, HS) in boxes of `rows` rows and D columns. And of k and v. A
/// tensor without rows, of which nothing is loaded, has the map of `instead`.
CUtensorMap queries_map(const Attention& shape, const e4m3* tensor, int rows, int D);
CUtensorMap keys_map(const Attention& shape, const e4m3* tensor, int rows, int D,
                     const e4m3* instead);

/// Keys of a row of Vᵀ in global memory: of whole groups of 32.
inline int64_t padded_keys(const Attention& shape) {
  return ceil_div(shape.Tk, 32) * 32;
}
/// The map of Vᵀ: (heads, HS, padded_keys) in boxes of D rows and `keys` keys.
CUtensorMap columns_map(const Attention& shape, const e4m3* tensor, int keys, int D,
                        const e4m3* instead);

}  // namespace tutorial::flash_attention::fp8
