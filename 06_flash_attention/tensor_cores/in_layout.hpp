// Layouts that people have, by name, and what moves numbers from one into another: for programs and
// tests. Steps know strides only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {

/// A tensor of so many rows, and where they lie.
struct Placed {
  int64_t B, heads, T, HS;
  Strides strides;

  /// From the first element of a tensor to the one behind its last.
  int64_t span() const;
};
Placed placed_q(const Attention&shape), placed_k(const Attention&shape),
    placed_v(const Attention&shape), placed_out(const Attention&shape);

/// The shape with its tensors in a layout: "bhtd"; "bthd"; "qkv", where q, k and v are slices of
/// one tensor (B, T, NH + 2·NH_kv, HS), and out is as in "bthd". Throws Error for another name, and
/// for a "qkv" with more keys than queries, or fewer.
Attention in_layout(Attention shape, const std::string& layout);

/// The tensor (B, heads, T, HS) as it is placed; what lies between stays.
void place(std::span<const float> dense, const Placed& as, std::span<bf16> to);
/// The way back.
std::vector<float> dense_of(std::span<const float> from, const Placed& as);

/// On the device, 16 bytes at a time: both have all their rows at multiples of 16 bytes.
void permute(const bf16* from, const Placed& as, bf16* to, const Strides& to_strides,
             cudaStream_t stream);

}  // namespace tutorial::flash_attention::tensor_cores
