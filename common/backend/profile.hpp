// What the kernels of a launch did and what they take. The CPU backend counts what the warps did
// (common/simulator/count/trace.cpp), as on a GPU Nsight Compute does. On a GPU we know what a
// kernel takes of a multiprocessor (common/backend/launches_gpu.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutorial {

/// Memory instructions of one kind. A request is one instruction of one warp.
struct Traffic {
  int64_t requests = 0;
  int64_t lanes =
      0;  // threads that took part, over all requests; less than 32 each: some were left out
  int64_t bytes = 0;       // that the threads asked for
  int64_t sectors = 0;     // global memory: pieces of 32 bytes that were touched
  int64_t wavefronts = 0;  // shared memory: passes through the banks
  int64_t conflicts = 0;   // and those of them that bank conflicts cost
  int64_t mergeable = 0;   // shared loads: requests that fall away if nvcc merges neighbours

  Traffic& operator+=(const Traffic& other) {
    requests += other.requests;
    lanes += other.lanes;
    bytes += other.bytes;
    sectors += other.sectors;
    wavefronts += other.wavefronts;
    conflicts += other.conflicts;
    mergeable += other.mergeable;
    return *this;
  }
};

struct Counts {
  Traffic loads, stores, atomics;                       // of global memory
  Traffic shared_loads, shared_stores, shared_atomics;  // of shared memory
  int64_t async_copies = 0;     // into shared memory, by threads: no warp stores them
  int64_t barriers = 0;         // of a block
  int64_t warp_operations = 0;  // shuffles, votes, __syncwarp, of a warp

  Counts& operator+=(const Counts& other) {
    loads += other.loads;
    stores += other.stores;
    atomics += other.atomics;
    shared_loads += other.shared_loads;
    shared_stores += other.shared_stores;
    shared_atomics += other.shared_atomics;
    async_copies += other.async_copies;
    barriers += other.barriers;
    warp_operations += other.warp_operations;
    return *this;
  }
};

struct ProfiledLine {
  std::string path;  // "" and 0: the program has no line for these
  int line = 0;
  Counts counts;
};

/// Of one launch, on a GPU.
struct Takes {
  int64_t blocks = 0, threads = 0;  // of the grid; of a block
  int registers = 0;                // of a thread
  int64_t shared_bytes = 0;         // of a block
  int64_t local_bytes = 0;          // of a thread: spilled registers, and arrays without a register
  double occupancy = 0;             // of the threads that a multiprocessor has room for
};

struct KernelProfile {
  std::string kernel;
  int64_t launches = 0;
  int64_t blocks = 0, threads = 0;  // of all launches; counted on the CPU
  Takes takes = {};                 // the last launch; on a GPU
  Counts total = {};
  std::vector<ProfiledLine> lines = {};  // ordered by path and line
};

/// From now on, from nothing.
void start_profile();
/// The kernels launched since, in the order of their first launch; looks no longer. Finding the
/// lines takes a moment; on a GPU there are none.
std::vector<KernelProfile> take_profile(bool with_lines);

}  // namespace tutorial
