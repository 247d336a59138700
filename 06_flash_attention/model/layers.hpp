// The kernels that no other chapter has. Each has one thread an element, or a block a row: plain,
// as little of the time is theirs. All are row-major in global memory, and float32 but where it
// says bf16, to which numbers are rounded to nearest even.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "common/compare/compare.hpp"

namespace tutorial::flash_attention::model {

/// x[b][t] = token[bytes[b][t]] + position[first + t], for T bytes of each of B texts, the first of
/// which is byte number `first` of its text. x is (B, T, width).
void embed(const unsigned char* bytes, const float* token, const float* position, float* x,
           int64_t B, int64_t T, int64_t first, int64_t width);

/// What layer_norm adds to a row's variance, as PyTorch's does.
inline constexpr float NORM_EPSILON = 1e-5f;
/// y = (x − mean) / √(variance + epsilon) · gain + shift for each row (Ba et al., 2016).
void layer_norm(const float* x, const float* gain, const float* shift, float* y, int64_t rows,
                int64_t width);

/// x = gelu(x + bias), gelu(z) = z/2·(1 + erf(z/√2)) (Hendrycks and Gimpel, 2016), in place.
void bias_gelu(float* x, const float* bias, int64_t rows, int64_t width);

/// x += y + bias.
void add_to(float* x, const float* y, const float* bias, int64_t rows, int64_t width);

/// Where the keys and values of T new tokens of each of B texts go: behind the `first` that each
/// head of the cache has, whose heads are `capacity` tokens apart.
struct Heads {
  int64_t B, heads, head_size, T, first, capacity;
};
/// qkv (B, T, 3, heads, head_size) plus bias becomes q (B, heads, T, head_size), and the new rows
/// of k and v (B, heads, capacity, head_size), in float or in bf16.
void split_heads(const Heads& shape, const float* qkv, const float* bias, float* q, float* k,
                 float* v);
void split_heads(const Heads& shape, const float* qkv, const float* bias, __nv_bfloat16* q,
                 __nv_bfloat16* k, __nv_bfloat16* v);

// ---- around steps that take bf16

/// y = x.
void round_to_bf16(const float* x, __nv_bfloat16* y, int64_t count);
/// Chapter 05's unpermute: out (B, heads, T, head_size) becomes rows (B, T, heads·head_size).
void join_heads(const Heads& shape, const __nv_bfloat16* out, float* rows);

// ---- their references, in double: of some rows, with the bound that float32 arithmetic has

Expected reference_layer_norm(std::span<const float> x, std::span<const float> gain,
                              std::span<const float> shift);
Expected reference_bias_gelu(std::span<const float> x, std::span<const float> bias);

}  // namespace tutorial::flash_attention::model
