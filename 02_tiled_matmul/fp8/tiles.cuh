// What the steps of this part share: tiles of 8-bit numbers, the thread that loads them, and the
// way of sums to C. It is that of part hopper's step 8, stored_behind.
#pragma once

#include "common/kernel/cluster.cuh"
#include "common/kernel/fp8.cuh"
#include "common/kernel/tma.cuh"
#include "fp8/fp8.hpp"
#include "fp8/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::fp8 {

using hopper::BOX_COLS, hopper::Box, hopper::warpgroup_number;

inline constexpr int CONSUMERS = 2, THREADS = CONSUMERS * WARPGROUP + 32;
/// From step 3 on: a whole warpgroup for the producer, since registers change hands by warpgroups.
inline constexpr int THREE_GROUPS = (CONSUMERS + 1) * WARPGROUP;
inline constexpr int BM = 64 * CONSUMERS, BK = 128;  // 128 bytes, a row of the widest swizzle
inline constexpr int CLUSTER = 2;  // blocks, whose tiles of C lie one below the other
inline constexpr unsigned EVERY_BLOCK = (1u << CLUSTER) - 1;
inline constexpr int GROUP = 8;  // pairs of tiles one below the other
inline constexpr int BOXES = 2;  // of a warp: it fills one while the other is copied

/// A tile of A and one of B, both with K along the row: wgmma takes 8 bits in no other way.
template <int BN>
struct Tiles {
  e4m3 A[BM * BK], B[BN * BK];
};

template <int BN_, int STAGES_>
struct Shared {
  static constexpr int BN = BN_, STAGES = STAGES_;
  Tiles<BN> tiles[STAGES];
  Box boxes[CONSUMERS * 4][BOXES];  // (warp, …)
  Barrier full[STAGES], empty[STAGES];
};

/// The tiles of C that a cluster computes, one after another.
struct Turns {
  int down, across, first, stride;
  __device__ Turns(const Problem& p, int BN)
      : down(static_cast<int>(ceil_div(p.M, CLUSTER * BM))),
        across(static_cast<int>(ceil_div(p.N, BN))),
        first(blockIdx.x / CLUSTER),
        stride(gridDim.x / CLUSTER) {}
  /// Calls f(row0, col0) with where the block's tile begins.
  template <class F>
  __device__ void for_each_tile(int BN, const F& f) const {
    for (int tile = first; tile < down * across; tile += stride) {
      const auto place = place_of<GROUP>(tile, down, across);
      f((place.down * CLUSTER + static_cast<int>(cluster_rank())) * BM, place.across * BN);
    }
  }
};

template <class S>
__device__ void make_barriers(S& shared) {
  for (int stage = 0; stage < S::STAGES; ++stage) {
    barrier_init(shared.full[stage], 1);
    barrier_init(shared.empty[stage], CLUSTER * CONSUMERS);
  }
  barrier_init_fence();
}

/// The producer, one thread: its block's rows of A, and its half of the rows of B for both.
template <class S>
__device__ void produce(S& shared, const CUtensorMap& A_map, const CUtensorMap& B_map,
                        const Problem& p) {
  constexpr int SHARE = S::BN / CLUSTER;
  const int rank = static_cast<int>(cluster_rank());
  Ring<S::STAGES> turn;
  Turns(p, S::BN).for_each_tile(S::BN, [&](int row0, int col0) {
    for (int k0 = 0; k0 < p.K; k0 += BK, turn.next()) {
      auto& tiles = shared.tiles[turn.stage];
      Barrier& full = shared.full[turn.stage];
      barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
      barrier_arrive_expect(full, sizeof tiles);
      tma_load(tiles.A, A_map, full, {k0, row0});
      tma_load_multicast(tiles.B + rank * SHARE * BK, B_map, full, {k0, col0 + rank * SHARE},
                         EVERY_BLOCK);
    }
  });
}

/// A warpgroup has read the stage: thread 0 tells block 0, thread 1 block 1.
template <class S>
__device__ void release(S& shared, int stage) {
  const int target = threadIdx.x % WARPGROUP;
  if (target < CLUSTER) barrier_arrive_at(shared.empty[stage], target);
}

/// Begins d (64, N) += 64 rows of a tile of A · N rows of one of B, or d = … without `add`.
template <int N>
__device__ void begin_products(float (&d)[N / 2], const e4m3* A, const e4m3* B, bool add) {
  const WgmmaOperand a({.start = A}), b({.start = B});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 32) wgmma_e4m3<N>(d, a + k, b + k, add || k > 0);
  wgmma_commit();
}

/// For steps 2 and 3: a warp's sums (16, 2·COUNT), whose first element is C[row0][col0], times the
/// scales of their rows and columns.
template <int COUNT>
__device__ void scale_sums(float (&d)[COUNT], const Problem& p, int row0, int col0) {
  const int row = row0 + threadIdx.x % 32 / 4, col = col0 + threadIdx.x % 4 * 2;
  const float of_row[2] = {row < p.M ? p.scales.a[row] : 0,
                           row + 8 < p.M ? p.scales.a[row + 8] : 0};
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int n = col + 2 * i + e;
      const float of_column = n < p.N ? p.scales.b[n] : 0;
      d[i + e] *= of_row[0] * of_column;
      d[i + e + 2] *= of_row[1] * of_column;
    }
  }
}

/// The warpgroup's finished sums (64, 2·COUNT), whose first element is C[row0][col0]: by way of its
/// boxes and TMA, or one by one where C's rows do not begin at multiples of 16 bytes.
template <int COUNT>
__device__ void begin_stores(const CUtensorMap& C_map, const Problem& p, int row0, int col0,
                             const float (&d)[COUNT], Box (&boxes)[BOXES], int& next) {
  if (!p.stores_by_tma) {
    const int lane = threadIdx.x % 32, row = row0 + lane / 4, col = col0 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int m = row + i % 4 / 2 * 8, n = col + i / 4 * 8 + i % 2;
      if (m < p.M && n < p.N) p.C[int64_t{m} * p.N + n] = __float2bfloat16(d[i]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 2 * COUNT / BOX_COLS<bf16>; ++i) {
    Box& box = boxes[next];
    next = (next + 1) % BOXES;
    if (threadIdx.x % 32 == 0) tma_wait_read<BOXES - 1>();  // TMA has read what the box held …
    __syncwarp();                                           // … and all lanes know
    fill_box(box, d + i * BOX_COLS<bf16> / 2, bf16{});
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      tma_store(C_map, &box, {col0 + i * BOX_COLS<bf16>, row0});
      tma_commit();
    }
  }
}

}  // namespace tutorial::tiled_matmul::fp8
