// Part fp8 of chapter 6: attention from numbers of 8 bits, on compute capability 9.0.
//
//   out[i] = Σ_j p_ij · v[j],   p_ij = exp(s_ij − lse_i),   s_ij = q[i]·k[j] / √HS
//   lse_i  = log Σ_j exp(s_ij)              over the keys j that query i may look at
//
// Shapes, the causal mask, grouped queries and queries without keys are those of the chapter
// (06_flash_attention.hpp). q, k and v are e4m3 (common/kernel/fp8.cuh), with a scale for each
// head; out is bf16, lse is float32. The head size is a multiple of 16 up to 128, so a row is a
// multiple of 16 bytes.
//
//   q[i] = scale_q · Q[i]        k[j] = scale_k · K[j]        v[j] = scale_v · V[j]
//
// What is rounded: scores, sums and O are float32, as exact as the tensor cores add up numbers of 8
// bits (reference.cpp). The weights are rounded to e4m3 before they are multiplied by V, and out at
// the end. lse is that of the weights before they were rounded, and out is divided by their sum.
//
// e4m3 has no infinity; a NaN among its scores gives a query NaN.
#pragma once

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::flash_attention::fp8 {

using e4m3 = __nv_fp8_e4m3;
using tensor_cores::bf16;

/// The step that step 1 goes on from, of part hopper.
inline constexpr const char* after = "hopper/tile_stores";

/// A scale for each head, in global memory, positive: q has B·NH of them, k and v B·NH_kv.
struct Scales {
  const float *q, *k, *v;
};

// ---- the steps

/// Writes out and lse in a stream. Does nothing when out is empty. Waits for nothing. The workspace
/// has workspace_bytes() bytes; two launches that may run at the same time have one each. Throws
/// Error, before any launch and for an empty out too, when the shape is invalid, its head size no
/// multiple of 16 up to 128, a tensor does not begin at a multiple of 16 bytes, the device is none
/// of compute capability 9.0, and for strides and lengths; and when out is not empty and the
/// workspace is too small.
using Launcher = void(const Attention& shape, const e4m3* q, const e4m3* k, const e4m3* v,
                      Scales scales, bf16* out, float* lse, Workspace workspace,
                      cudaStream_t stream);

Launcher transposed_before, transposed_as_loaded, third_consumer, wide_tiles;

Asks<Launcher> transposed_before_asks, transposed_as_loaded_asks, third_consumer_asks,
    wide_tiles_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "transposed_before",
     .launch = transposed_before,
     .asked = transposed_before_asks,
     .idea = "numbers of 8 bits; a kernel first writes Vᵀ, its keys in the order of P's registers",
     .needs = "sm_90a"},
    {.name = "transposed_as_loaded",
     .launch = transposed_as_loaded,
     .asked = transposed_as_loaded_asks,
     .idea = "three warps transpose each tile of V in shared memory",
     .needs = "sm_90a"},
    {.name = "third_consumer",
     .launch = third_consumer,
     .asked = third_consumer_asks,
     .idea = "heads up to 64: two warpgroups have their softmax while one multiplies",
     .needs = "sm_90a"},
    {.name = "wide_tiles",
     .launch = wide_tiles,
     .asked = wide_tiles_asks,
     .idea = "heads above 64: 192 keys a tile",
     .needs = "sm_90a"},
};

/// The bytes that any step needs at most: a counter of tickets, and Vᵀ.
int64_t workspace_bytes(const Attention& shape);

/// Queries and keys of a tile of a step.
struct TileSizes {
  int queries, keys;
};
TileSizes tile_sizes(Launcher* step, const Attention& shape);

/// Keys whose order is changed among themselves, for P·V: what one wgmma adds up.
inline constexpr int GROUP = 32;

/// The key that Vᵀ has at a place of a group (words.cuh says why).
__host__ __device__ constexpr int key_of_place(int place) {
  const int h = place / 16, t = place % 16 / 4, i = place % 4 / 2, e = place % 2;
  return 16 * h + 8 * i + 2 * t + e;
}

// ---- from float32 to e4m3

/// Rounds X (heads, T, HS) to e4m3, divided by its head's scale: its largest magnitude / 448, or 1
/// where all are zeros. All in global memory, in a stream. NaN and infinities make all of their
/// head NaN.
void quantise(const float* X, int64_t heads, int64_t T, int64_t HS, e4m3* rounded, float* scales,
              cudaStream_t stream);

// ---- the reference

/// What a launcher's tensor stands for, in float32.
struct Operand {
  std::vector<float> values;  // as e4m3 has them
  std::vector<float> scales;  // a head
};

/// The rows `rows` (of B·NH·Tq) of out and lse, in double, with a bound on the error of a kernel
/// that rounds as above and takes `keys_of_tile` keys at a time. reference.cpp derives the bound.
Reference reference(const Attention& shape, const Operand& q, const Operand& k, const Operand& v,
                    std::span<const int64_t> rows, int keys_of_tile);

}  // namespace tutorial::flash_attention::fp8
