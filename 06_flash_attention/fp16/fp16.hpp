// Part fp16 of chapter 6: attention in fp16, both products on the tensor cores of compute
// capability 7.5.
//
//   out[i] = Σ_j p_ij · v[j],   p_ij = exp(s_ij − lse_i),   s_ij = q[i]·k[j] / √HS
//   lse_i  = log Σ_j exp(s_ij)              over the keys j that query i may look at
//
// Shapes, the causal mask, grouped queries, queries without keys, NaN and infinities are those of
// the chapter (06_flash_attention.hpp). q, k, v and out are fp16, without gaps, at any address that
// a __half* can have; lse is float32. The head size is a multiple of 8 up to 128.
//
// What is rounded: as in part tensor_cores, to fp16 in place of bf16. From 65520 on fp16 is
// infinite: so may out be where values come within 1/1000 of that.
//
// Such a GPU (a T4, an RTX 20) has no bf16 in its tensor cores, no asynchronous copies and 64 KB of
// shared memory a block. Newer ones run all of this, too. The reference, the softmax, the mask and
// a lane's rows of O are those of part tensor_cores.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <vector>

#include "06_flash_attention.hpp"
#include "common/kernel/step.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::fp16 {

/// The road's step that step 1 goes on from.
inline constexpr const char* after = "q_outer";

/// Writes out and lse in a stream. Does nothing when out is empty. Waits for nothing. Throws Error,
/// before any launch and for an empty out too, when the shape is invalid, for a head size that is
/// no multiple of 8 up to 128, for strides and lengths, and on a device older than 7.5.
using Launcher = void(const Attention& shape, const __half* q, const __half* k, const __half* v,
                      __half* out, float* lse, cudaStream_t stream);

Launcher fragments, registers_ahead, queries_in_registers;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "fragments",
     .launch = fragments,
     .asked = tensor_cores::by_bf16_tiles<64>,
     .idea = "both products by mma 16×8×8; eight keys of P are its left fragment as they are"},
    {.name = "registers_ahead",
     .launch = registers_ahead,
     .asked = tensor_cores::by_bf16_tiles<64>,
     .idea = "V comes into registers during Q·Kᵀ, and the next K during P·V"},
    {.name = "queries_in_registers",
     .launch = queries_in_registers,
     .asked = tensor_cores::by_bf16_tiles<64>,
     .idea = "Q stays in registers: a third less shared memory, and more blocks fit"},
};

}  // namespace tutorial::flash_attention::fp16
