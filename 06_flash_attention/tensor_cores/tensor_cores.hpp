// Part tensor_cores of chapter 6: attention in bf16, both products on tensor cores.
//
//   out[i] = Σ_j p_ij · v[j],   p_ij = exp(s_ij − lse_i),   s_ij = q[i]·k[j] / √HS
//   lse_i  = log Σ_j exp(s_ij)              over the keys j that query i may look at
//
// Shapes, the causal mask, grouped queries, queries without keys, NaN and infinities are those of
// the chapter (06_flash_attention.hpp). q, k, v and out are bf16, lse is float32. The head size is
// a multiple of 8 up to 256, so a row is a multiple of 16 bytes.
//
// What is rounded: scores, sums and O are float32; the weights p are rounded to bf16 before they
// are multiplied by v, and out at the end. lse is that of the weights before they were rounded.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::flash_attention::tensor_cores {

using bf16 = __nv_bfloat16;

/// The road's step that step 1 goes on from.
inline constexpr const char* after = "q_outer";

// ---- the steps

/// Writes out and lse in a stream. Does nothing when out is empty. Waits for nothing. Throws Error,
/// before any launch and for an empty out too, when the shape is invalid, the step or the device
/// cannot do its head size, or q, k, v or out does not begin at a multiple of 16 bytes (the steps
/// from any_address on take those); and for strides, which layouts and
/// lengths take, and for lengths.
using Launcher = void(const Attention& shape, const bf16* q, const bf16* k, const bf16* v,
                      bf16* out, float* lse, cudaStream_t stream);

Launcher fragments, swizzled, waits_in_order, sums_at_end, short_softmax, tall_tiles,
    masks_at_edges, one_barrier, lazy_rescale, wide_tiles, large_heads, head_sizes, any_address,
    layouts, lengths;

/// In tiles of Br queries and Bc keys: each tile of queries reads all keys that it sees.
template <int Br, int Bc = 64, class... Rest>
std::vector<Asked> by_bf16_tiles(const Attention& s, Rest...) {
  Asked asked = {.loads = 2 * s.B * s.NH * s.HS * (s.Tq + 2 * s.Tk * ceil_div(s.Tq, Br)),
                 .stores = 2 * s.B * s.NH * s.Tq * (s.HS + 2)};
  asked.loads -= 4 * s.B * s.NH * s.HS * hidden_keys(s, Br, Bc);
  return {asked};
}
/// The steps from 10 on, but for the small tiles of a smaller device.
template <class... Rest>
std::vector<Asked> by_sized_tiles(const Attention& s, Rest...) {
  return s.HS <= 64 ? by_bf16_tiles<128, 128>(s) : by_bf16_tiles<128>(s);
}
/// Step 15: each sequence has its own Tq and Tk, and out all of Tq.
template <class... Rest>
std::vector<Asked> by_lengths(const Attention& s, Rest...) {
  Asked asked;
  Attention one = s;
  one.B = 1;
  asked.stores = s.B * by_sized_tiles(one)[0].stores;
  for (int64_t b = 0; b < s.B; ++b) asked.loads += by_sized_tiles(one.sequence(b))[0].loads;
  return {asked};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "fragments",
     .launch = fragments,
     .asked = by_bf16_tiles<64>,
     .idea = "both products by mma; P goes from one to the other in registers",
     .needs = "sm_80"},
    {.name = "swizzled",
     .launch = swizzled,
     .asked = by_bf16_tiles<64>,
     .idea = "rows in shared memory so that ldmatrix has no bank conflicts",
     .needs = "sm_80"},
    {.name = "waits_in_order",
     .launch = waits_in_order,
     .asked = by_bf16_tiles<64>,
     .idea = "V comes until the softmax ends, the next K from the softmax on",
     .needs = "sm_80"},
    {.name = "sums_at_end",
     .launch = sums_at_end,
     .asked = by_bf16_tiles<64>,
     .idea = "lanes of a row add their sums together once, at the end",
     .needs = "sm_80"},
    {.name = "short_softmax",
     .launch = short_softmax,
     .asked = by_bf16_tiles<64>,
     .idea = "powers of 2: one FFMA and one ex2 a score",
     .needs = "sm_80"},
    {.name = "tall_tiles",
     .launch = tall_tiles,
     .asked = by_bf16_tiles<128>,
     .idea = "32 rows a warp: what is read of K and V serves twice",
     .needs = "sm_80"},
    {.name = "masks_at_edges",
     .launch = masks_at_edges,
     .asked = by_bf16_tiles<128>,
     .idea = "the mask is asked only where a tile meets the diagonal or the end",
     .needs = "sm_80"},
    {.name = "one_barrier",
     .launch = one_barrier,
     .asked = by_bf16_tiles<128>,
     .idea = "two stages of K and V, one barrier a tile",
     .needs = "sm_80"},
    {.name = "lazy_rescale",
     .launch = lazy_rescale,
     .asked = by_bf16_tiles<128>,
     .idea = "O is rescaled only where a maximum rises by more than 8 in log2",
     .needs = "sm_80"},
    {.name = "wide_tiles",
     .launch = wide_tiles,
     .asked = by_sized_tiles,
     .idea = "tiles of 128 keys for head sizes up to 64",
     .needs = "sm_80"},
    {.name = "large_heads",
     .launch = large_heads,
     .asked = by_sized_tiles,
     .idea = "head sizes up to 256: 16 rows a warp above 128",
     .needs = "sm_80"},
    {.name = "head_sizes",
     .launch = head_sizes,
     .asked = by_sized_tiles,
     .idea = "rows padded to 16 numbers, with a swizzle for any length",
     .needs = "sm_80"},
    {.name = "any_address",
     .launch = any_address,
     .asked = by_sized_tiles,
     .idea = "tensors that do not begin at a multiple of 16 bytes, one number at a time",
     .needs = "sm_80"},
    {.name = "layouts",
     .launch = layouts,
     .asked = by_sized_tiles,
     .idea = "strides: heads, tokens and sequences any number of elements apart",
     .needs = "sm_80",
     .features = STRIDES},
    {.name = "lengths",
     .launch = lengths,
     .asked = by_lengths,
     .idea = "a length for each sequence: a padded batch without work for the padding",
     .needs = "sm_80",
     .features = STRIDES | LENGTHS},
};

/// The largest head size of a step; all of them take multiples of 8.
inline int64_t largest_head_size(Launcher* step) {
  for (Launcher* large : {large_heads, head_sizes, any_address, layouts, lengths})
    if (step == large) return 256;
  return 128;
}

// ---- the reference

/// The rows `rows` (of B·NH·Tq) of out and lse, in double, with a bound on the error of a kernel
/// that rounds as above. q, k and v hold numbers of bf16. reference.cpp derives the bound.
Reference reference_bf16(const Attention& shape, std::span<const float> q, std::span<const float> k,
                         std::span<const float> v, std::span<const int64_t> rows);
/// The same for fp16: of part fp16, which has no problem of its own.
Reference reference_fp16(const Attention& shape, std::span<const float> q, std::span<const float> k,
                         std::span<const float> v, std::span<const int64_t> rows);

}  // namespace tutorial::flash_attention::tensor_cores
