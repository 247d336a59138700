// Instructions of compute capability 9.0 and 9.0a, on the CPU: what
// common/backend/include/ptx_hopper.h is on a GPU. Kernels use the words of common/kernel/, which
// say what each does.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ptx.h>
#include "simulator/cluster_functions.h"

#include <cstdint>

namespace simulator {

void mbarrier_init(uint64_t* barrier, uint32_t arrivals);
void fence_mbarrier_init();
/// `block`: the rank of the block whose barrier it is, or kThisBlock.
inline constexpr uint32_t kThisBlock = 0xffffffff;
void mbarrier_arrive(uint64_t* barrier, uint32_t block, uint32_t bytes);
void mbarrier_wait(uint64_t* barrier, uint32_t parity);
void fence_proxy_async();

/// `blocks`: a bit for each block of the cluster that gets the tile; 0: this one.
void tma_load(void* to, const void* map, uint64_t* barrier, const int* at, int dimensions,
              unsigned blocks);
void tma_store(const void* map, const void* from, const int* at, int dimensions);
void prefetch_tensor_map(const void* map);
void tma_commit();
void tma_wait(int pending, bool only_read);

bool elect_one();
void set_registers(int count, bool more);
void named_barrier(int barrier, int threads, bool waits);

enum class WgmmaType { bfloat16, half, e4m3 };
/// A is in registers where `registers` is not null, else `a` describes it. `mn_major`: a bit for A,
/// one for B.
void wgmma(float* d, int columns, uint64_t a, const uint32_t* registers, uint64_t b, bool add,
           WgmmaType type, int mn_major);
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(int pending);
uint64_t wgmma_descriptor(const void* start, int leading, int stride, int swizzle);

}  // namespace simulator

// Inlined, so that a report names the kernel's line.
namespace ptx {

using simulator::elect_one;
using simulator::fence_mbarrier_init;
using simulator::fence_proxy_async;
using simulator::mbarrier_init;

__forceinline__ void mbarrier_arrive(uint64_t* barrier) {
  simulator::mbarrier_arrive(barrier, simulator::kThisBlock, 0);
}
__forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  simulator::mbarrier_arrive(barrier, simulator::kThisBlock, bytes);
}
__forceinline__ void mbarrier_arrive_cluster(uint64_t* barrier, uint32_t block) {
  simulator::mbarrier_arrive(barrier, block, 0);
}
__forceinline__ void mbarrier_wait_parity(uint64_t* barrier, uint32_t parity) {
  simulator::mbarrier_wait(barrier, parity);
}

// What the L2 cache keeps does not show here.
__forceinline__ uint64_t policy_evict_last() {
  return 0;
}
__forceinline__ uint64_t policy_evict_first() {
  return 0;
}

using simulator::prefetch_tensor_map;
template <int DIMENSIONS>
__forceinline__ void tma_load(void* to, const void* map, uint64_t* barrier,
                              const int (&at)[DIMENSIONS], uint64_t = 0) {
  simulator::tma_load(to, map, barrier, at, DIMENSIONS, 0);
}
template <int DIMENSIONS>
__forceinline__ void tma_load_multicast(void* to, const void* map, uint64_t* barrier,
                                        const int (&at)[DIMENSIONS], uint16_t blocks,
                                        uint64_t = 0) {
  simulator::tma_load(to, map, barrier, at, DIMENSIONS, blocks);
}
template <int DIMENSIONS>
__forceinline__ void tma_store(const void* map, const void* from, const int (&at)[DIMENSIONS]) {
  simulator::tma_store(map, from, at, DIMENSIONS);
}
using simulator::tma_commit;
template <int PENDING>
__forceinline__ void tma_wait() {
  simulator::tma_wait(PENDING, false);
}
template <int PENDING>
__forceinline__ void tma_wait_read() {
  simulator::tma_wait(PENDING, true);
}

template <int REGISTERS>
__forceinline__ void setmaxnreg_inc() {
  simulator::set_registers(REGISTERS, true);
}
template <int REGISTERS>
__forceinline__ void setmaxnreg_dec() {
  simulator::set_registers(REGISTERS, false);
}
__forceinline__ void bar_sync(int barrier, int threads) {
  simulator::named_barrier(barrier, threads, true);
}
__forceinline__ void bar_arrive(int barrier, int threads) {
  simulator::named_barrier(barrier, threads, false);
}

__forceinline__ void cluster_arrive() {
  simulator::cluster_arrive(/*aligned=*/true);  // barrier.cluster.arrive.aligned
}
using simulator::cluster_map;
using simulator::cluster_rank;
using simulator::cluster_size;
using simulator::cluster_wait;

template <int A_MN_MAJOR, int B_MN_MAJOR, int COUNT>
__forceinline__ void wgmma_m64k16(float (&d)[COUNT], uint64_t a, uint64_t b, int add,
                                  __nv_bfloat16) {
  simulator::wgmma(d, 2 * COUNT, a, nullptr, b, add != 0, simulator::WgmmaType::bfloat16,
                   A_MN_MAJOR | B_MN_MAJOR << 1);
}
template <int A_MN_MAJOR, int B_MN_MAJOR, int COUNT>
__forceinline__ void wgmma_m64k16(float (&d)[COUNT], uint64_t a, uint64_t b, int add, __half) {
  simulator::wgmma(d, 2 * COUNT, a, nullptr, b, add != 0, simulator::WgmmaType::half,
                   A_MN_MAJOR | B_MN_MAJOR << 1);
}
template <int B_MN_MAJOR, int COUNT>
__forceinline__ void wgmma_m64k16(float (&d)[COUNT], const uint32_t (&a)[4], uint64_t b, int add,
                                  __nv_bfloat16) {
  simulator::wgmma(d, 2 * COUNT, 0, a, b, add != 0, simulator::WgmmaType::bfloat16,
                   B_MN_MAJOR << 1);
}
template <int B_MN_MAJOR, int COUNT>
__forceinline__ void wgmma_m64k16(float (&d)[COUNT], const uint32_t (&a)[4], uint64_t b, int add,
                                  __half) {
  simulator::wgmma(d, 2 * COUNT, 0, a, b, add != 0, simulator::WgmmaType::half, B_MN_MAJOR << 1);
}
using simulator::wgmma_commit;
using simulator::wgmma_descriptor;
using simulator::wgmma_fence;
template <int PENDING>
__forceinline__ void wgmma_wait() {
  simulator::wgmma_wait(PENDING);
}
template <int COUNT>
__forceinline__ void wgmma_use(float (&)[COUNT]) {}

}  // namespace ptx
