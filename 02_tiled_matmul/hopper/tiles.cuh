// Words of this part: tiles in shared memory, and finished sums on their way to C.
#pragma once

#include "common/kernel/barrier.cuh"
#include "common/kernel/mma.cuh"
#include "common/kernel/swizzle.hpp"
#include "common/kernel/warpgroup.cuh"
#include "hopper/hopper.hpp"
#include "tensor_cores/tile_order.cuh"

namespace tutorial::tiled_matmul::hopper {

inline constexpr int BK = 64;    // elements of K at a time: 128 bytes, a row of the widest swizzle
inline constexpr int COLS = 64;  // of B in a row of 128 bytes

/// A tile of A (BM, BK), and one of B (BK, BN) in pieces of 64 columns, as TMA writes them and
/// wgmma reads them: rows of 128 bytes, swizzled.
///
///   A     64 of K         B   64 of N     64 of N        …
///       ┌─────────┐         ┌─────────┐ ┌─────────┐
///       │ BM rows │         │ BK rows │ │ BK rows │      BN/64 pieces, one behind the other
///       └─────────┘         └─────────┘ └─────────┘
template <int BM, int BN>
struct Tiles {
  bf16 A[BM * BK];
  bf16 B[BN / COLS][BK * COLS];
};

/// The number of this thread's warpgroup. By way of a shuffle, so that nvcc knows: it is the same
/// in all lanes, and so is each address that follows from it.
__device__ inline int warpgroup_number() {
  return __shfl_sync(~0u, static_cast<int>(threadIdx.x) / WARPGROUP, 0);
}

/// Two neighbours in one access.
__device__ inline void store_pair(float* to, float first, float second) {
  *reinterpret_cast<float2*>(to) = make_float2(first, second);
}
__device__ inline void store_pair(bf16* to, float first, float second) {
  *reinterpret_cast<uint32_t*>(to) = pack<bf16>(first, second);
}

/// A warpgroup's sums (64, 2·COUNT), whose first element is C[row0][col0], straight from the
/// registers (wgmma.cuh: lane 4·g + t has pairs of rows g and g + 8). N is even, so a pair is in C
/// or outside.
template <class Out, int COUNT>
__device__ void store_sums(Out* C, int M, int N, int row0, int col0, const float (&d)[COUNT]) {
  const int row = row0 + threadIdx.x % WARPGROUP / 32 * 16 + threadIdx.x % 32 / 4;
  const int col = col0 + threadIdx.x % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Out* const to = C + int64_t{row + 8 * half} * N + col;
    if (row + 8 * half >= M) continue;
#pragma unroll
    for (int j = 0; j < COUNT / 4; ++j)
      if (col + 8 * j < N) store_pair(to + 8 * j, d[4 * j + 2 * half], d[4 * j + 2 * half + 1]);
  }
}

/// From step 8 on: 16 rows of 128 bytes of C, which a warp writes and TMA stores.
struct Box {
  unsigned char bytes[16 * 128];
};
template <class Out>
inline constexpr int BOX_COLS = 128 / sizeof(Out);

/// The warp's sums of 64 columns from d[0] on, rounded, into a box. A matrix of stmatrix is 8 × 8:
/// the 16 × 16 elements of one are sums of 4 · 2 registers.
__device__ inline void fill_box(Box& box, const float* d, bf16) {
  const int row = threadIdx.x % 16, right = threadIdx.x % 32 / 16;  // where this lane's row begins
#pragma unroll
  for (int j = 0; j < 4; ++j, d += 8) {
    const uint32_t four[4] = {pack<bf16>(d[0], d[1]), pack<bf16>(d[2], d[3]),
                              pack<bf16>(d[4], d[5]), pack<bf16>(d[6], d[7])};
    stmatrix(&box.bytes[swizzled(row * 128 + j * 32 + right * 16, Swizzle::bytes_128)], four);
  }
}
/// The same for 32 columns of floats, which no stmatrix can move: pairs.
__device__ inline void fill_box(Box& box, const float* d, float) {
  const int row = threadIdx.x % 32 / 4, col = threadIdx.x % 4 * 2;
#pragma unroll
  for (int j = 0; j < 4; ++j, d += 4) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<float2*>(
          &box.bytes[swizzled((row + 8 * half) * 128 + (8 * j + col) * 4, Swizzle::bytes_128)]) =
          make_float2(d[2 * half], d[2 * half + 1]);
  }
}

}  // namespace tutorial::tiled_matmul::hopper
