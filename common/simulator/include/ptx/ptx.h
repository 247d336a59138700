// Instructions that CUDA C++ has no name for, on the CPU: what common/backend/include/ptx.h is on a
// GPU. Kernels use the words of common/kernel/, which say what each does.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace simulator {

// All 32 lanes of a warp come to these together (matrix.cpp).
void mma_bf16(float* c, const uint32_t* a, uint32_t b0, uint32_t b1);
void mma_half(float* c, const uint32_t* a, uint32_t b0, uint32_t b1);
void mma_half_k8(float* c, const uint32_t* a, uint32_t b);
void mma_tf32(float* c, const uint32_t* a, uint32_t b0, uint32_t b1);
void ldmatrix(uint32_t* to, const void* row, int count);
void ldmatrix_trans(uint32_t* to, const void* row, int count);
void stmatrix(void* row, const uint32_t* from, int count);

}  // namespace simulator

// Inlined, so that a report names the kernel's line.
namespace ptx {

__forceinline__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                  __nv_bfloat16) {
  simulator::mma_bf16(c, a, b0, b1);
}
__forceinline__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                  __half) {
  simulator::mma_half(c, a, b0, b1);
}
__forceinline__ void mma_m16n8k8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b, __half) {
  const uint32_t a[2] = {a0, a1};
  simulator::mma_half_k8(c, a, b);
}
__forceinline__ void mma_m16n8k8_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                      uint32_t b1) {
  simulator::mma_tf32(c, a, b0, b1);
}

template <int BYTES>
__forceinline__ void copy_async_part(void* to, const void* from, int inside) {
  __pipeline_memcpy_async(to, from, BYTES, BYTES - inside);
}
template <int BYTES>
__forceinline__ void copy_async(void* to, const void* from, bool inside) {
  copy_async_part<BYTES>(to, from, inside ? BYTES : 0);
}

template <int COUNT>
__forceinline__ void ldmatrix(uint32_t (&to)[COUNT], const void* row) {
  static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4);
  simulator::ldmatrix(to, row, COUNT);
}
template <int COUNT>
__forceinline__ void ldmatrix_trans(uint32_t (&to)[COUNT], const void* row) {
  static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4);
  simulator::ldmatrix_trans(to, row, COUNT);
}
template <int COUNT>
__forceinline__ void stmatrix(void* row, const uint32_t (&from)[COUNT]) {
  static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4);
  simulator::stmatrix(row, from, COUNT);
}

/// On the bits: half of the last place that is kept is added, which rounds ties away from zero. Of
/// a NaN an H200 cuts the lower bits off, so one whose other bits are zero becomes infinity.
inline uint32_t to_tf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return (is_nan ? bits : bits + 0x1000) & ~uint32_t{0x1fff};
}

/// The host's exp2f: never less accurate than the instruction.
inline float exp2_approx(float x) {
  const float power = exp2f(x);
  return power < 0x1p-126f ? 0.0f : power;
}

}  // namespace ptx
