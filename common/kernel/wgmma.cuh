// Products by a warpgroup: 128 threads, four warps from a multiple of four on, multiply a tile A
// (64, 16) by B (16, N) in one instruction. B, and A unless it is in registers, are read from
// shared memory by the tensor cores themselves, and the threads go on meanwhile.
//
//   wgmma_fence();                                   // what the registers hold is there
//   for (k …) wgmma<N, T>(sums, a + …, b + …);       // begins them, one after another
//   wgmma_commit();                                  // closes a group
//   …                                                // others work; nobody touches the sums
//   wgmma_wait<0>(sums);                             // until all but the last 0 groups are done
//
// Sums: warp w of the four has rows 16·w … 16·w + 15. Lane 4·g + t holds of each 8 columns 8·j …
//
//   d[4j] d[4j+1]    row 16w + g,      columns 8j + 2t, 8j + 2t + 1
//   d[4j+2] d[4j+3]  row 16w + g + 8,  the same
//
// and A in registers is each warp's fragment of mma_m16n8k16 (mma.cuh). So the sums of one product,
// packed in pairs, are the A of the next: d[8i] … d[8i+7] make the registers of its columns 16i ….
//
// Tiles in shared memory: their rows are 128 bytes (64 elements), 64 or 32, as TMA brings them with
// the swizzle of that width (tensor_map.hpp). Along K the row runs ("K-major"), or along M or N:
//
//   K-major: A (m, k), Bᵀ (n, k)                 MN-major: B (k, n), row-major as it lies
//
//        k ───▶ 64                                    n ───▶ 64       64
//      ┌──────────┐ ┬                               ┌──────────┐ ┌──────────┐ ┬
//   m  │ 8 rows   │ stride: 8·128 bytes          k  │ 8 rows   │ │ 8 rows   │ stride: 8·128 bytes
//   │  ├──────────┤ ┴                            │  ├──────────┤ ├──────────┤ ┴
//   ▼  │ 8 rows   │                              ▼  │ 8 rows   │ │ 8 rows   │
//      └──────────┘                                 └──────────┘ └──────────┘
//      the next 16 of K: 32 bytes further            ├─ leading ─▶ bytes to the next 64 columns
//                                                    the next 16 of K: 16 rows, 2048 bytes further
//
// (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": "wgmma.mma_async", "Matrix
// Descriptor", "Register Fragments".) They need compute capability 9.0a: no other GPU has them.
#pragma once

#include <ptx_hopper.h>

#include <cstdint>

#include "common/kernel/swizzle.hpp"

namespace tutorial {

/// How a tile lies in shared memory.
struct WgmmaTile {
  const void* start;                     // of the first row; a multiple of 16 bytes
  int leading = 16;                      // bytes; its meaning is in the picture
  int stride = 1024;                     // bytes from 8 rows to the next 8
  Swizzle swizzle = Swizzle::bytes_128;  // that the tile was written with
};

/// The same in the 64 bits that the instruction takes:
///
///    63 62    61     52  51  49   48 46   45      32    31 30  29       16    15 14  13        0
///   ┌───────┬──────────┬────────┬───────┬────────────┬───────┬────────────┬───────┬────────────┐
///   │swizzle│    0     │ offset │   0   │ stride/16  │   0   │ leading/16 │   0   │  start/16  │
///   └───────┴──────────┴────────┴───────┴────────────┴───────┴────────────┴───────┴────────────┘
///
/// The offset is 0 for tiles whose rows of 8 begin at a multiple of the swizzle's pattern (1024
/// bytes for 128).
struct WgmmaOperand {
  uint64_t bits;

  __device__ __forceinline__ explicit WgmmaOperand(const WgmmaTile& tile)
      : bits(ptx::wgmma_descriptor(tile.start, tile.leading, tile.stride,
                                   static_cast<int>(tile.swizzle))) {}
  /// The same tile from so many bytes further on.
  __device__ __forceinline__ WgmmaOperand operator+(int bytes) const {
    return WgmmaOperand(bits + static_cast<uint64_t>(bytes >> 4));
  }

 private:
  __device__ __forceinline__ explicit WgmmaOperand(uint64_t bits) : bits(bits) {}
};

enum class Major { k, mn };  // along what the rows of a tile run

/// Begins D = A·B, or D += A·B with `add`: A (64, 16), B (16, N), D (64, N) in fp32, N a multiple
/// of 8 up to 256. T is __nv_bfloat16 or __half. All of the warpgroup come to it together.
template <int N, class T, Major A_MAJOR = Major::k, Major B_MAJOR = Major::k>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], WgmmaOperand a, WgmmaOperand b,
                                      bool add = true) {
  ptx::wgmma_m64k16<static_cast<int>(A_MAJOR), static_cast<int>(B_MAJOR)>(d, a.bits, b.bits, add,
                                                                          T{});
}
/// The same with A in registers, K-major as it lies there.
template <int N, class T, Major B_MAJOR = Major::k>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const uint32_t (&a)[4], WgmmaOperand b,
                                      bool add = true) {
  ptx::wgmma_m64k16<static_cast<int>(B_MAJOR)>(d, a, b.bits, add, T{});
}

/// Before the first product, and wherever the thread has written sums or the A of a product since:
/// orders those registers before the products that follow. (PTX ISA, "wgmma.fence".)
__device__ __forceinline__ void wgmma_fence() {
  ptx::wgmma_fence();
}
/// Closes the group of the products that the warpgroup has begun. (PTX ISA,
/// "wgmma.commit_group".)
__device__ __forceinline__ void wgmma_commit() {
  ptx::wgmma_commit();
}
/// Waits until all but the last PENDING groups are done: their tiles may be written again, and
/// their sums used. Name these sums, so that the compiler uses none of them before this line. (PTX
/// ISA, "wgmma.wait_group".)
template <int PENDING, int... COUNTS>
__device__ __forceinline__ void wgmma_wait(float (&... sums)[COUNTS]) {
  ptx::wgmma_wait<PENDING>();
  (ptx::wgmma_use(sums), ...);
}

}  // namespace tutorial
