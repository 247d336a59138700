// Cooperative groups (CUDA C++ Programming Guide, "Cooperative Groups"): blocks here, groups within
// a warp in cooperative_groups/lanes.h, and clusters of blocks. A barrier of the whole grid is not
// on the CPU backend.
#pragma once

#include <cooperative_groups/lanes.h>
#include "device_functions.h"
#include "simulator/cluster_functions.h"

namespace cooperative_groups {

class thread_block {
 public:
  static void sync(SIMULATOR_WHERE) {
    simulator::block_barrier(simulator::BarrierKind::sync, 0, where);
  }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
};
inline thread_block this_thread_block() {
  return {};
}

/// Any of the groups, for functions that take whichever.
class thread_group {
 public:
  thread_group(const thread_block&) {}
  thread_group(const simulator::Lanes& lanes) : is_block_(false), lanes_(lanes) {}

  void sync(SIMULATOR_WHERE) const {
    if (is_block_)
      thread_block::sync(where);
    else
      lanes_.sync(where);
  }
  unsigned num_threads() const {
    return is_block_ ? thread_block::num_threads() : lanes_.num_threads();
  }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const {
    return is_block_ ? thread_block::thread_rank() : lanes_.thread_rank();
  }

 private:
  bool is_block_ = true;
  simulator::Lanes lanes_{0};
};

/// `count` is a power of two, at most 32.
inline thread_group tiled_partition(const thread_group&, unsigned count) {
  return simulator::Lanes::tile(count);
}
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned count) {
  return group.tile(count);
}
template <unsigned N>
thread_block_tile<N, thread_block> tiled_partition(const thread_block&) {
  return thread_block_tile<N, thread_block>(thread_block::thread_rank() / N,
                                            (thread_block::num_threads() + N - 1) / N);
}
template <unsigned N, unsigned M, class Parent>
thread_block_tile<N, thread_block_tile<M, Parent>> tiled_partition(
    const thread_block_tile<M, Parent>& tile) {
  static_assert(N <= M, "a tile is cut into smaller ones");
  return thread_block_tile<N, thread_block_tile<M, Parent>>(tile.thread_rank() / N, M / N);
}

class grid_group {
 public:
  static bool is_valid() { return false; }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() {
    return blockIdx.x +
           static_cast<unsigned long long>(gridDim.x) * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  __attribute__((
      error("a barrier of the whole grid (this_grid().sync()) is not on the CPU backend: "
            "make two launches of it (docs/try.md lists what is)"))) void
  sync() const;
};
__attribute__((
    error("a barrier of the whole grid (sync(this_grid())) is not on the CPU backend: make two "
          "launches of it (docs/try.md lists what is)"))) void
sync(const grid_group&);
inline grid_group this_grid() {
  return {};
}

/// The blocks that run at the same time and reach each other's shared memory. Inlined, so that a
/// report names the kernel's line.
class cluster_group {
 public:
  struct arrival_token {};
  __forceinline__ static void sync() {
    simulator::cluster_arrive();
    simulator::cluster_wait();
  }
  __forceinline__ static arrival_token barrier_arrive() {
    simulator::cluster_arrive();
    return {};
  }
  __forceinline__ static void barrier_wait() { simulator::cluster_wait(); }
  __forceinline__ static void barrier_wait(arrival_token&&) { simulator::cluster_wait(); }

  static dim3 block_index() { return simulator::cluster_index(); }
  static unsigned int block_rank() { return simulator::cluster_rank(); }
  static dim3 dim_blocks() { return simulator::cluster_dimensions(); }
  static unsigned int num_blocks() { return simulator::cluster_size(); }
  static dim3 thread_index() {
    const dim3 block = block_index();
    return {block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
            block.z * blockDim.z + threadIdx.z};
  }
  static unsigned int thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return {blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z};
  }
  static unsigned int num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned int size() { return num_threads(); }

  __forceinline__ static unsigned int query_shared_rank(const void* address) {
    return simulator::cluster_rank_of(address);
  }
  template <class T>
  __forceinline__ static T* map_shared_rank(T* address, int rank) {
    return static_cast<T*>(simulator::cluster_map(address, static_cast<uint32_t>(rank)));
  }
};
inline cluster_group this_cluster() {
  return {};
}

inline void sync(const thread_block&, SIMULATOR_WHERE) {
  thread_block::sync(where);
}
template <class Group>
void sync(const Group& group, SIMULATOR_WHERE) {
  if constexpr (requires { group.sync(where); })
    group.sync(where);
  else
    group.sync();
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.num_threads();
}

}  // namespace cooperative_groups
