// Instructions that CUDA C++ has no name for, on a GPU: inline PTX. The simulator has a header of
// the same name (common/simulator/include). Kernels use the words of common/kernel/, which say what
// each does and where it is described.
//
// An instruction that the compiled architecture has not ends the kernel: launchers refuse before
// that.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ptx {

/// The address inside shared memory, as instructions take it.
__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

#if __CUDA_ARCH__ >= 750
#define PTX_SM_75(...) asm volatile(__VA_ARGS__)
#else
#define PTX_SM_75(...) __trap()
#endif

__device__ inline void mma_m16n8k8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b, __half) {
  PTX_SM_75(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(b));
}

#if __CUDA_ARCH__ >= 800
#define PTX_SM_80(...) asm volatile(__VA_ARGS__)
#else
#define PTX_SM_80(...) __trap()
#endif

__device__ inline void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                    __nv_bfloat16) {
  PTX_SM_80(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                    __half) {
  PTX_SM_80(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void mma_m16n8k8_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                        uint32_t b1) {
  PTX_SM_80(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline uint32_t to_tf32(float value) {
  uint32_t bits = 0;
  PTX_SM_80("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

/// What __pipeline_memcpy_async() does, without a branch: only the first `inside` bytes are read,
/// and zeros follow. (PTX ISA, "cp.async"; .cg goes past the L1 cache, and takes 16 bytes only.)
template <int BYTES>
__device__ inline void copy_async_part(void* to, const void* from, int inside) {
  if constexpr (BYTES == 16)
    PTX_SM_80("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
              "r"(inside)
              : "memory");
  else
    PTX_SM_80("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from),
              "n"(BYTES), "r"(inside)
              : "memory");
}
template <int BYTES>
__device__ inline void copy_async(void* to, const void* from, bool inside) {
  copy_async_part<BYTES>(to, from, inside ? BYTES : 0);
}

// The "memory" keeps them behind stores that the compiler sees: it does not see that they read.
__device__ inline void ldmatrix(uint32_t (&to)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(to[0])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix(uint32_t (&to)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix_trans(uint32_t (&to)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(to[0])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix_trans(uint32_t (&to)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void ldmatrix_trans(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

#if __CUDA_ARCH__ >= 900
#define PTX_SM_90(...) asm volatile(__VA_ARGS__)
#else
#define PTX_SM_90(...) __trap()
#endif

__device__ inline void stmatrix(void* row, const uint32_t (&from)[1]) {
  PTX_SM_90("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(shared_address(row)),
            "r"(from[0])
            : "memory");
}
__device__ inline void stmatrix(void* row, const uint32_t (&from)[2]) {
  PTX_SM_90("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(shared_address(row)),
            "r"(from[0]), "r"(from[1])
            : "memory");
}
__device__ inline void stmatrix(void* row, const uint32_t (&from)[4]) {
  PTX_SM_90(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(row)),
      "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
      : "memory");
}

__device__ inline float exp2_approx(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

}  // namespace ptx
