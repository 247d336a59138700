// Copies of whole tiles by the TMA unit: one thread gives a tensor map (tensor_map.hpp) and the
// coordinates of the tile's first element, and goes on. No thread computes an address, no element
// passes a register.
//
//   load    global ──TMA──▶ shared, and then its bytes arrive at a barrier (barrier.cuh):
//
//     if (elect_one()) {
//       barrier_arrive_expect(full, BYTES);              // of all tiles that this phase brings
//       tma_load(tile, map, full, {column, row});
//     }
//     barrier_wait(full, parity);                        // everyone who reads the tile
//
//   store   shared ──TMA──▶ global, in groups that the thread waits for:
//
//     fence_async_proxy();  __syncthreads();             // every writer of the tile: see below
//     if (threadIdx.x == 0) {
//       tma_store(map, tile, {column, row});
//       tma_commit();
//       tma_wait_read<0>();                              // before the tile is written again
//     }
//
// What lies outside of the array is loaded as zeros, whose bytes count too, and is not stored; but
// stores go 16 bytes at a time, and where a row of the array ends within some of them an H200
// writes the rest, too, into a gap or the next row. A tile begins at a multiple of 128 bytes, with
// a swizzle of 1024.
//
// The TMA unit and wgmma read shared memory by another way (the async proxy) than threads write
// it. So whoever wrote with ordinary stores what one of them reads next says fence_async_proxy(),
// and then comes the barrier. (PTX ISA, "cp.async.bulk.tensor", "Async Proxy".) The words need
// compute capability 9.0.
#pragma once

#include <ptx_hopper.h>

#include <cstdint>

#include "common/kernel/barrier.cuh"
#include "common/kernel/tensor_map.hpp"

namespace tutorial {

/// Fetches the map itself before the first copy needs it. (PTX ISA, "prefetch.tensormap".)
__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  ptx::prefetch_tensor_map(&map);
}

/// What a kernel keeps in dynamic shared memory, from the first multiple of 1024 bytes on: only 16
/// are sure. The launch asks for aligned_bytes<T>.
template <class T>
__device__ __forceinline__ T& aligned_shared(unsigned char* memory) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
  return *reinterpret_cast<T*>(memory + (1024 - begin % 1024) % 1024);
}
template <class T>
inline constexpr int aligned_bytes = static_cast<int>(sizeof(T)) + 1024 - 16;

/// Begins to load a tile of 2, 3 or 4 dimensions: {column, row, …} are the coordinates of its first
/// element, which may be negative or lie outside. The column's bytes are a multiple of 16. (PTX
/// ISA, "cp.async.bulk.tensor". It does not name the 16 bytes: an H200 takes others for an illegal
/// instruction.)
template <int DIMENSIONS>
__device__ __forceinline__ void tma_load(void* tile, const CUtensorMap& map, Barrier& barrier,
                                         const int (&at)[DIMENSIONS]) {
  ptx::tma_load(tile, &map, &barrier.state, at);
}
/// The same into the same place of several blocks of the cluster, a bit each of `blocks`, and the
/// bytes arrive at the same barrier of each. Every one of them expects them.
template <int DIMENSIONS>
__device__ __forceinline__ void tma_load_multicast(void* tile, const CUtensorMap& map,
                                                   Barrier& barrier, const int (&at)[DIMENSIONS],
                                                   unsigned blocks) {
  ptx::tma_load_multicast(tile, &map, &barrier.state, at, static_cast<uint16_t>(blocks));
}

/// How long the L2 cache should keep what is loaded: tma_load(…, {column, row}, keep_long()).
/// (PTX ISA, "createpolicy".)
struct Keep {
  uint64_t policy;
};
__device__ __forceinline__ Keep keep_long() {
  return {ptx::policy_evict_last()};
}
__device__ __forceinline__ Keep keep_short() {
  return {ptx::policy_evict_first()};
}
template <int DIMENSIONS>
__device__ __forceinline__ void tma_load(void* tile, const CUtensorMap& map, Barrier& barrier,
                                         const int (&at)[DIMENSIONS], Keep keep) {
  ptx::tma_load(tile, &map, &barrier.state, at, keep.policy);
}
template <int DIMENSIONS>
__device__ __forceinline__ void tma_load_multicast(void* tile, const CUtensorMap& map,
                                                   Barrier& barrier, const int (&at)[DIMENSIONS],
                                                   unsigned blocks, Keep keep) {
  ptx::tma_load_multicast(tile, &map, &barrier.state, at, static_cast<uint16_t>(blocks),
                          keep.policy);
}
/// Begins to store a tile. Its thread commits it to a group and waits for it.
template <int DIMENSIONS>
__device__ __forceinline__ void tma_store(const CUtensorMap& map, const void* tile,
                                          const int (&at)[DIMENSIONS]) {
  ptx::tma_store(&map, tile, at);
}
/// Closes the group of the stores that this thread has begun. (PTX ISA,
/// "cp.async.bulk.commit_group".)
__device__ __forceinline__ void tma_commit() {
  ptx::tma_commit();
}
/// Waits until all but this thread's last PENDING groups have read their tiles, which may be
/// written again; or have stored them. (PTX ISA, "cp.async.bulk.wait_group".)
template <int PENDING>
__device__ __forceinline__ void tma_wait_read() {
  ptx::tma_wait_read<PENDING>();
}
template <int PENDING>
__device__ __forceinline__ void tma_wait() {
  ptx::tma_wait<PENDING>();
}

/// What this thread wrote to shared memory before may be read by the TMA unit and by wgmma after
/// the next barrier. (PTX ISA, "fence.proxy.async".)
__device__ __forceinline__ void fence_async_proxy() {
  ptx::fence_proxy_async();
}

}  // namespace tutorial
