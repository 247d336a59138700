// Numbers of 8 bits: what TMA and wgmma (wgmma.cuh) do with them, and how a kernel makes them.
//
//   e4m3   seee efff    ±(1 + f/8) · 2^(e − 7), e = 0: ±f/8 · 2^−6; 0x7f and 0xff are NaN, and
//   there
//                       is no infinity. From 2^−9 to 448, in steps of an eighth to a sixteenth.
//
// A product takes 32 of them along K where it takes 16 numbers of 16 bits: 32 bytes, too. So tiles
// lie in shared memory as those of bf16 do, byte for byte, with one difference: both operands must
// be K-major. (PTX ISA, "wgmma.mma_async"; CUDA Math API, "FP8 Intrinsics".)
#pragma once

#include <cuda_fp8.h>
#include <ptx_fp8.h>

#include "common/kernel/tensor_map.hpp"
#include "common/kernel/wgmma.cuh"

namespace tutorial {

/// To a map they are bytes.
template <>
constexpr CUtensorMapDataType tensor_map_type<__nv_fp8_e4m3>() {
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

/// Begins D = A·B, or D += A·B with `add`: A (64, 32) and B (32, N) of e4m3, both K-major, D (64,
/// N) in fp32, N a multiple of 8 up to 256. All of the warpgroup come to it together.
template <int N>
__device__ __forceinline__ void wgmma_e4m3(float (&d)[N / 2], WgmmaOperand a, WgmmaOperand b,
                                           bool add = true) {
  ptx::wgmma_m64k32_e4m3(d, a.bits, b.bits, add);
}
/// The same with A in registers. Lane 4·g + t of a warp holds, each four bytes along K,
///
///   a[0] row g, from 4t on    a[1] row g + 8    a[2] row g, from 16 + 4t on    a[3] row g + 8
template <int N>
__device__ __forceinline__ void wgmma_e4m3(float (&d)[N / 2], const uint32_t (&a)[4],
                                           WgmmaOperand b, bool add = true) {
  ptx::wgmma_m64k32_e4m3(d, a, b.bits, add);
}

/// Four numbers in four bytes, the first in the lowest: rounded to nearest even; what is too large
/// becomes ±448, NaN stays NaN.
__device__ inline uint32_t pack_e4m3(float a, float b, float c, float d) {
  return __nv_fp8x4_e4m3(make_float4(a, b, c, d)).__x;
}

}  // namespace tutorial
