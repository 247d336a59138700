// prototype
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>
#include "common/kernel/barrier.cuh"
#include "common/kernel/cluster.cuh"
#include "common/kernel/mma.cuh"
#include "common/kernel/swizzle.hpp"
#include "common/kernel/tensor_map.hpp"
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/kernel/wgmma.cuh"
using namespace tutorial;
using bf16 = __nv_bfloat16;

enum Order { GROUPED, HILBERT };
enum Store { WARP2, WARP1, WG2 };  // warp: own 16 rows, 2 or 1 buffers

template <int BN_, int STAGES_, int CLUSTER_, int GROUP_, int BUFFERS_ = 2, int HINT_ = 0, int BM_ = 128, int STAG_ = 0>
struct Cfg {
  static constexpr int BM = BM_, BN = BN_, BK = 64, STAGES = STAGES_, CLUSTER = CLUSTER_, GROUP = GROUP_, BUFFERS = BUFFERS_, HINT = HINT_, STAG = STAG_;
  static constexpr int CONSUMERS = BM / 64, THREADS = (1 + CONSUMERS) * 128;
  static constexpr int BOXES = (BN + 63) / 64;
  struct Shared {
    bf16 a[STAGES][BM * BK];
    bf16 b[STAGES][BOXES][BK * 64];
    unsigned char c[CONSUMERS * 4][BUFFERS][16 * 128];
    Barrier full[STAGES], empty[STAGES];
  };
  static constexpr int BYTES = aligned_bytes<Shared>;
  static_assert(BYTES <= 232448);
};

struct Place { int down, across; };
template <int GROUP>
__device__ inline Place place_of(int t, int tiles_down, int tiles_across) {
  const int first = t / (GROUP * tiles_across) * GROUP;
  const int in = t - first * tiles_across;
  const int h = min(tiles_down - first, GROUP);
  return {first + in % h, in / h};
}

template <class C, class Out>
__global__ void __launch_bounds__(C::THREADS, 1)
    kernel(const __grid_constant__ CUtensorMap A_map, const __grid_constant__ CUtensorMap B_map,
           const __grid_constant__ CUtensorMap C_map, int tiles_down, int tiles_across, int steps) {
  using Shared = typename C::Shared;
  constexpr int STAGES = C::STAGES, BM = C::BM, BN = C::BN, BK = C::BK, CLUSTER = C::CLUSTER, BOXES = C::BOXES;
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int group = threadIdx.x / 128;
  const int rank = CLUSTER > 1 ? cluster_rank() : 0;
  // tiles_down counts tiles of CLUSTER blocks
  const int tiles = tiles_down * tiles_across;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      barrier_init(shared.full[s], 1);
      barrier_init(shared.empty[s], CLUSTER * C::CONSUMERS);
    }
    barrier_init_fence();
  }
  if (CLUSTER > 1) cluster_sync(); else __syncthreads();
  if (group == 0) {
    if constexpr (C::CONSUMERS > 1) give_registers<C::CONSUMERS == 3 ? 32 : 24>();
    if (threadIdx.x < 32 && elect_one()) {
      int stage = 0, parity = 1;
      for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
        const Place p = place_of<C::GROUP>(t, tiles_down, tiles_across);
        const int row = (p.down * CLUSTER + rank) * BM, col = p.across * BN;
        for (int k = 0; k < steps; ++k) {
          Barrier& full = shared.full[stage];
          barrier_wait(shared.empty[stage], parity);
          barrier_arrive_expect(full, (BM * BK + BOXES * 64 * BK) * 2);
          if constexpr (C::HINT == 1) {
            tma_load(shared.a[stage], A_map, full, {k * BK, row}, keep_long());
          } else
            tma_load(shared.a[stage], A_map, full, {k * BK, row});
          if constexpr (CLUSTER == 1) {
#pragma unroll
            for (int i = 0; i < BOXES; ++i) tma_load(shared.b[stage][i], B_map, full, {col + 64 * i, k * BK});
          } else {
#pragma unroll
            for (int i = 0; i < BOXES / CLUSTER; ++i) {
              const int box = rank * (BOXES / CLUSTER) + i;
              tma_load_multicast(shared.b[stage][box], B_map, full, {col + 64 * box, k * BK}, (1u << CLUSTER) - 1);
            }
          }
          if (++stage == STAGES) stage = 0, parity ^= 1;
        }
      }
    }
  } else {
    if constexpr (C::CONSUMERS > 1) take_registers<C::CONSUMERS == 3 ? 160 : 240>();
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int m = (group - 1) * 64, t0 = blockIdx.x / CLUSTER;
    int stage = 0, parity = 0;
    float d[BN / 2];
    const auto release = [&](int s) {
      if constexpr (CLUSTER > 1) {
        if (thread < CLUSTER) barrier_arrive_at(shared.empty[s], thread);
      } else {
        if (thread == 0) barrier_arrive(shared.empty[s]);
      }
    };
    if (C::STAG > 0 && group == 2 && steps > C::STAG && t0 < tiles) named_sync(1, 256);
    bool first_tile = true;
    for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
      const Place p = place_of<C::GROUP>(t, tiles_down, tiles_across);
      const int row = (p.down * CLUSTER + rank) * BM + m, col = p.across * BN;
      for (int k = 0; k < steps; ++k) {
        barrier_wait(shared.full[stage], parity);
        const WgmmaOperand a({.start = shared.a[stage] + m * BK});
        const WgmmaOperand b({.start = shared.b[stage], .leading = BK * 128});
        wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < BK / 16; ++kk)
          wgmma<BN, bf16, Major::k, Major::mn>(d, a + kk * 32, b + kk * 2048, k + kk > 0);
        wgmma_commit();
        if (C::STAG > 0 && group == 1 && first_tile && k == C::STAG) { named_arrive(1, 256); first_tile = false; }
        if (k > 0) {
          wgmma_wait<1>();
          release(stage == 0 ? STAGES - 1 : stage - 1);
        }
        if (++stage == STAGES) stage = 0, parity ^= 1;
      }
      wgmma_wait<0>(d);
      release(stage == 0 ? STAGES - 1 : stage - 1);
      unsigned char* const mine = shared.c[(group - 1) * 4 + warp][0];
      if constexpr (std::is_same_v<Out, bf16>) {
#pragma unroll
        for (int box = 0; box < BOXES; ++box) {
          unsigned char* const to = mine + box % C::BUFFERS * 2048;
          tma_wait_read<C::BUFFERS - 1>();
          __syncwarp();
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            if (box * 64 + j * 16 >= BN) continue;
            const float* s = d + box * 32 + j * 8;
            const uint32_t regs[4] = {pack<bf16>(s[0], s[1]), pack<bf16>(s[2], s[3]), pack<bf16>(s[4], s[5]), pack<bf16>(s[6], s[7])};
            stmatrix(to + swizzled((lane % 16) * 128 + j * 32 + lane / 16 * 16, Swizzle::bytes_128), regs);
          }
          fence_async_proxy();
          __syncwarp();
          if (lane == 0) {
            tma_store(C_map, to, {col + box * 64, row + warp * 16});
            tma_commit();
          }
        }
      } else {
#pragma unroll
        for (int box = 0; box < BN / 32; ++box) {
          unsigned char* const to = mine + box % C::BUFFERS * 2048;
          tma_wait_read<C::BUFFERS - 1>();
          __syncwarp();
          const int g = lane / 4, q = lane % 4;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const float* s = d + box * 16 + j * 4;
            *reinterpret_cast<float2*>(to + swizzled(g * 128 + j * 32 + q * 8, Swizzle::bytes_128)) = make_float2(s[0], s[1]);
            *reinterpret_cast<float2*>(to + swizzled((g + 8) * 128 + j * 32 + q * 8, Swizzle::bytes_128)) = make_float2(s[2], s[3]);
          }
          fence_async_proxy();
          __syncwarp();
          if (lane == 0) {
            tma_store(C_map, to, {col + box * 32, row + warp * 16});
            tma_commit();
          }
        }
      }
    }
    if (lane == 0) tma_wait<0>();
  }
  if (CLUSTER > 1) cluster_sync();
}

template <class C, class Out>
void launch(const bf16* A, const bf16* B, Out* D, int M, int N, int K) {
  const uint64_t m = M, n = N, k = K;
  const auto A_map = tensor_map(A, {k, m}, {k}, {64, C::BM});
  const auto B_map = tensor_map(B, {n, k}, {n}, {64, 64});
  const auto C_map = tensor_map(D, {n, m}, {n}, {128 / sizeof(Out), 16});
  const auto kern = kernel<C, Out>;
  static bool once = (CUDA_CHECK(cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, C::BYTES)), true);
  (void)once;
  const int down = (M + C::BM * C::CLUSTER - 1) / (C::BM * C::CLUSTER), across = (N + C::BN - 1) / C::BN;
  // As many clusters as find a place at once: a cluster lies in one GPC, whose SMs may be no multiple of it.
  static const int resident = [&] {
    cudaLaunchAttribute size{};
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim = {unsigned(C::CLUSTER), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(132 / C::CLUSTER * C::CLUSTER), config.blockDim = dim3(C::THREADS), config.dynamicSmemBytes = C::BYTES;
    config.attrs = &size, config.numAttrs = 1;
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, kern, &config));
    printf("clusters of %d: %d at once\n", C::CLUSTER, clusters);
    return clusters;
  }();
  const int blocks = std::min(down * across, resident) * C::CLUSTER;
  launch_clusters(kern, C::CLUSTER, dim3(blocks), dim3(C::THREADS), C::BYTES, A_map, B_map, C_map, down, across, (K + 63) / 64);
}

template <class Out> using Fn = void (*)(const bf16*, const bf16*, Out*, int, int, int);
template <class Out> struct Variant { const char* name; Fn<Out> fn; };
