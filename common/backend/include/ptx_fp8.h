// Products by warpgroups of numbers of 8 bits, on a GPU: inline PTX, as in ptx_hopper.h. There is
// the K-major form alone. Kernels use the words of common/kernel/fp8.cuh.
#pragma once

#include <cuda_fp8.h>
#include <ptx_hopper.h>

#include <cstdint>

namespace ptx {

// Both forms of the instruction for N columns: A by its descriptor, or in registers. What follows N
// are the numbers of the operands after the N / 2 sums.
#define PTX_WGMMA_FP8(N, O0, O1, O2, O3, O4, O5)                                                \
  __device__ inline void wgmma_m64k32_e4m3(float(&d)[N / 2], uint64_t a, uint64_t b, int add) { \
    PTX_SM_90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                         \
               ", 0;\n"                                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" PTX_SUMS_##N        \
               "}, %" #O0 ", %" #O1 ", p, 1, 1;\n}"                                             \
               : PTX_OPERANDS_##N                                                               \
               : "l"(a), "l"(b), "r"(add));                                                     \
  }                                                                                             \
  __device__ inline void wgmma_m64k32_e4m3(float(&d)[N / 2], const uint32_t(&a)[4], uint64_t b, \
                                           int add) {                                           \
    PTX_SM_90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O5                                         \
               ", 0;\n"                                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" PTX_SUMS_##N        \
               "}, {%" #O0 ", %" #O1 ", %" #O2 ", %" #O3 "}, %" #O4 ", p, 1, 1;\n}"             \
               : PTX_OPERANDS_##N                                                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));                 \
  }
PTX_WGMMA_FP8(8, 4, 5, 6, 7, 8, 9)
PTX_WGMMA_FP8(16, 8, 9, 10, 11, 12, 13)
PTX_WGMMA_FP8(24, 12, 13, 14, 15, 16, 17)
PTX_WGMMA_FP8(32, 16, 17, 18, 19, 20, 21)
PTX_WGMMA_FP8(40, 20, 21, 22, 23, 24, 25)
PTX_WGMMA_FP8(48, 24, 25, 26, 27, 28, 29)
PTX_WGMMA_FP8(56, 28, 29, 30, 31, 32, 33)
PTX_WGMMA_FP8(64, 32, 33, 34, 35, 36, 37)
PTX_WGMMA_FP8(72, 36, 37, 38, 39, 40, 41)
PTX_WGMMA_FP8(80, 40, 41, 42, 43, 44, 45)
PTX_WGMMA_FP8(88, 44, 45, 46, 47, 48, 49)
PTX_WGMMA_FP8(96, 48, 49, 50, 51, 52, 53)
PTX_WGMMA_FP8(104, 52, 53, 54, 55, 56, 57)
PTX_WGMMA_FP8(112, 56, 57, 58, 59, 60, 61)
PTX_WGMMA_FP8(120, 60, 61, 62, 63, 64, 65)
PTX_WGMMA_FP8(128, 64, 65, 66, 67, 68, 69)
PTX_WGMMA_FP8(136, 68, 69, 70, 71, 72, 73)
PTX_WGMMA_FP8(144, 72, 73, 74, 75, 76, 77)
PTX_WGMMA_FP8(152, 76, 77, 78, 79, 80, 81)
PTX_WGMMA_FP8(160, 80, 81, 82, 83, 84, 85)
PTX_WGMMA_FP8(168, 84, 85, 86, 87, 88, 89)
PTX_WGMMA_FP8(176, 88, 89, 90, 91, 92, 93)
PTX_WGMMA_FP8(184, 92, 93, 94, 95, 96, 97)
PTX_WGMMA_FP8(192, 96, 97, 98, 99, 100, 101)
PTX_WGMMA_FP8(200, 100, 101, 102, 103, 104, 105)
PTX_WGMMA_FP8(208, 104, 105, 106, 107, 108, 109)
PTX_WGMMA_FP8(216, 108, 109, 110, 111, 112, 113)
PTX_WGMMA_FP8(224, 112, 113, 114, 115, 116, 117)
PTX_WGMMA_FP8(232, 116, 117, 118, 119, 120, 121)
PTX_WGMMA_FP8(240, 120, 121, 122, 123, 124, 125)
PTX_WGMMA_FP8(248, 124, 125, 126, 127, 128, 129)
PTX_WGMMA_FP8(256, 128, 129, 130, 131, 132, 133)

}  // namespace ptx
