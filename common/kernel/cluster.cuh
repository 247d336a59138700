// Blocks of a cluster: they run at the same time on neighbouring SMs, and each can read and write
// the others' shared memory.
//
//   ┌── cluster ─────────────────────────────┐
//   │  block 0        block 1        block 2 │    in_block(&x, 1): the x of block 1
//   │ ┌────────┐     ┌────────┐     ┌──────┐ │    tma_load_multicast: one load, a tile in each
//   │ │ x  tile│◀───▶│ x  tile│◀───▶│x tile│ │    barrier_arrive_at(b, 1): at block 1's barrier
//   │ └────────┘     └────────┘     └──────┘ │
//   └────────────────────────────────────────┘
//
// What cooperative_groups::this_cluster() does, by the names of the instructions. A block must not
// leave while another may still use its shared memory: cluster_sync() at the end. The size is an
// attribute of the launch, launch_clusters(), or of the kernel, __cluster_dims__(x, y, z). (CUDA
// C++ Programming Guide, "Thread Block Clusters"; PTX ISA, "barrier.cluster", "mapa".) Compute
// capability 9.0.
#pragma once

#include <cuda_runtime.h>
#include <ptx_hopper.h>

#include "common/kernel/check.hpp"

namespace tutorial {

/// This block's number in its cluster, and how many there are.
__device__ __forceinline__ int cluster_rank() {
  return static_cast<int>(ptx::cluster_rank());
}
__device__ __forceinline__ int cluster_size() {
  return static_cast<int>(ptx::cluster_size());
}

/// A barrier of all threads of the cluster, in two halves: what a thread did before it arrived is
/// seen by all that have waited. (PTX ISA, "barrier.cluster".)
__device__ __forceinline__ void cluster_arrive() {
  ptx::cluster_arrive();
}
__device__ __forceinline__ void cluster_wait() {
  ptx::cluster_wait();
}
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/// Where the same variable of shared memory lies in another block of the cluster. (PTX ISA,
/// "mapa".)
template <class T>
__device__ __forceinline__ T* in_block(T* shared, int block) {
  return static_cast<T*>(ptx::cluster_map(shared, static_cast<uint32_t>(block)));
}

/// Launches a kernel whose clusters are `cluster` blocks in x: <<<…>>> has no place for that.
template <class... P, class... A>
void launch_clusters(void (*kernel)(P...), int cluster, dim3 grid, dim3 block,
                     size_t dynamic_shared, cudaStream_t stream, A&&... arguments) {
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = static_cast<unsigned>(cluster);
  size.val.clusterDim.y = size.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared;
  config.stream = stream;
  config.attrs = &size;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<A&&>(arguments)...));
}

}  // namespace tutorial
