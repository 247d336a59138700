// What launchers of this part look at before they launch.
#pragma once

#include <cstdint>

#include "common/kernel/check.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {

/// Do all begin at multiples of 16 bytes?
bool all_aligned(const void* q, const void* k, const void* v, const void* out);

/// Throws Error where rows of the type, of 16 bits, are no multiple of 16 bytes.
void require_whole_chunks(const Attention& shape, const char* type);

/// Throws Error when the shape is invalid; for what the step does not take; and before compute
/// capability 8.0, with which bf16 began.
void require_bf16(const Attention& shape, const char* step, unsigned takes = 0);

/// The same, and when the head size is not a multiple of 8 up to `largest`.
void require_head_size(const Attention& shape, const char* step, int64_t largest,
                       unsigned takes = 0);

/// The same, and that the tensors are all_aligned: what all steps but any_address need.
void require_supported(const Attention& shape, const char* step, int64_t largest, const bf16* q,
                       const bf16* k, const bf16* v, const bf16* out);

// ---- from step 14 on

/// The shape with all strides, those of tensors without gaps, too. Strides that nothing is
/// multiplied by, as a batch's of 1, become HS. Throws Error for strides below 0, and where rows of
/// out would overlap.
Attention with_strides(Attention shape);

/// Do all rows of with_strides() begin at multiples of 16 bytes?
bool all_rows_aligned(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                      const bf16* out);

/// Calls launch with D, the first of SIZES (in order) that holds the head size, as a compile-time
/// constant. One does.
template <int SIZE, int... SIZES, class Launch>
void with_padded_head_size(int64_t HS, const Launch& launch) {
  if constexpr (sizeof...(SIZES) > 0)
    if (HS > SIZE) return with_padded_head_size<SIZES...>(HS, launch);
  launch.template operator()<SIZE>();
}

}  // namespace tutorial::flash_attention::tensor_cores
