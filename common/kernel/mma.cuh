// Products on tensor cores: one instruction by which the 32 lanes of a warp multiply two small
// matrices together, and those that bring matrices from shared memory into the lanes' registers.
//
// A matrix that the lanes share is called a fragment: each lane holds some elements of it in its
// own registers. Lane l = 4·g + t, with g = l / 4 (0 … 7) and t = l % 4, holds of
//
//   A (16 × 16)                      B (16 × 8)                 C (16 × 8), fp32
//   a[0]: row g,   columns 2t 2t+1    b0: rows 2t 2t+1,          c[0]: row g,   column 2t
//   a[1]: row g+8, the same               column g               c[1]: row g,   column 2t+1
//   a[2]: row g,   columns 2t+8 2t+9  b1: rows 2t+8 2t+9,        c[2]: row g+8, column 2t
//   a[3]: row g+8, the same               column g               c[3]: row g+8, column 2t+1
//
// A register of 32 bits holds two elements of 16 bits, the one that is named first in its lower
// half (PTX ISA, "Matrix Fragments for mma.m16n8k16"; a picture: docs/02_tensor_cores.md).
//
// All 32 lanes must come to each of these words together. They need compute capability 8.0,
// mma_m16n8k8 and ldmatrix 7.5, stmatrix 9.0.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ptx.h>

#include <cstdint>

namespace tutorial {

/// C += A·B for A (16, 16), B (16, 8), C (16, 8). T is __nv_bfloat16 or __half; the products are
/// exact and added up in fp32. (PTX ISA, "mma".)
template <class T>
__device__ inline void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  ptx::mma_m16n8k16(c, a, b0, b1, T{});
}

/// The same of half the depth, for __half: C += A·B for A (16, 8), B (8, 8), C (16, 8). It is what
/// compute capability 7.5 has. Lane 4·g + t holds
///
///   A (16 × 8)                       B (8 × 8)
///   a0: row g,   columns 2t 2t+1     b: rows 2t 2t+1, column g
///   a1: row g+8, the same
///
/// and C as above: a0, a1 and b are a[0], a[1] and b0 of the picture above. (PTX ISA, "Matrix
/// Fragments for mma.m16n8k8".)
template <class T>
__device__ inline void mma_m16n8k8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  ptx::mma_m16n8k8(c, a0, a1, b, T{});
}

/// C += A·B for A (16, 8), B (8, 8), C (16, 8), of TF32: fp32 with 10 bits of fraction in place of
/// 23. Lane 4·g + t holds A's (g, t), (g+8, t), (g, t+4), (g+8, t+4) and B's (t, g), (t+4, g); C
/// as above. to_tf32() rounds before. TF32's bit layout is unspecified by NVIDIA ("implementation
/// defined", says the PTX ISA). On our H100 and H200 it is a float's, and the lower 13 bits of each
/// register are not looked at.
__device__ inline void mma_m16n8k8_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                        uint32_t b1) {
  ptx::mma_m16n8k8_tf32(c, a, b0, b1);
}

/// Reads COUNT (1, 2 or 4) matrices of 8 × 8 elements of 16 bits from shared memory. Lane l gives
/// the address of row l % 8 of matrix l / 8: 8 elements, a multiple of 16 bytes. (With COUNT < 4
/// the addresses of lanes from 8·COUNT on are not looked at.) Lane 4·g + t gets of matrix i
///
///   ldmatrix:        to[i] = elements (g, 2t) and (g, 2t+1)
///   ldmatrix_trans:  to[i] = elements (2t, g) and (2t+1, g), so the fragment of the transposed
///   matrix
///
/// (PTX ISA, "ldmatrix".)
template <int COUNT>
__device__ inline void ldmatrix(uint32_t (&to)[COUNT], const void* row) {
  ptx::ldmatrix(to, row);
}
template <int COUNT>
__device__ inline void ldmatrix_trans(uint32_t (&to)[COUNT], const void* row) {
  ptx::ldmatrix_trans(to, row);
}

/// The way back: writes COUNT matrices from the registers into shared memory, with rows and lanes
/// as ldmatrix has them. (PTX ISA, "stmatrix".)
template <int COUNT>
__device__ inline void stmatrix(void* row, const uint32_t (&from)[COUNT]) {
  ptx::stmatrix(row, from);
}

/// Two numbers rounded to T (to nearest even) in one register, `low` in its lower half.
template <class T>
__device__ inline uint32_t pack(float low, float high) = delete;
template <>
__device__ inline uint32_t pack<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<uint32_t>(__bfloat16_as_ushort(pair.y)) << 16 | __bfloat16_as_ushort(pair.x);
}
template <>
__device__ inline uint32_t pack<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return static_cast<uint32_t>(__half_as_ushort(pair.y)) << 16 | __half_as_ushort(pair.x);
}

/// Rounds to TF32: to nearest, ties away from zero. (PTX ISA, "cvt.rna.tf32.f32".) The bits are
/// those of a float whose lower 13 are zero, which NVIDIA does not promise either.
__device__ inline uint32_t to_tf32(float value) {
  return ptx::to_tf32(value);
}

}  // namespace tutorial
