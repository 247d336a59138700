// What the warps of a kernel did, counted as a GPU's profiler counts it. The CPU backend counts
// (common/simulator/profile.cpp); on a GPU Nsight Compute does.
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
  int64_t sectors = 0;     // device memory: pieces of 32 bytes that were touched
  int64_t wavefronts = 0;  // shared memory: passes through the banks
  int64_t conflicts = 0;   // and those of them that bank conflicts cost

  Traffic& operator+=(const Traffic& other) {
    requests += other.requests;
    lanes += other.lanes;
    bytes += other.bytes;
    sectors += other.sectors;
    wavefronts += other.wavefronts;
    conflicts += other.conflicts;
    return *this;
  }
};

struct Counts {
  Traffic loads, stores, atomics;                       // of device memory
  Traffic shared_loads, shared_stores, shared_atomics;  // of shared memory
  int64_t barriers = 0;                                 // of a block
  int64_t warp_operations = 0;                          // shuffles, votes, __syncwarp, of a warp

  Counts& operator+=(const Counts& other) {
    loads += other.loads;
    stores += other.stores;
    atomics += other.atomics;
    shared_loads += other.shared_loads;
    shared_stores += other.shared_stores;
    shared_atomics += other.shared_atomics;
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

struct KernelProfile {
  std::string kernel;
  int64_t launches = 0;
  Counts total = {};
  std::vector<ProfiledLine> lines = {};  // ordered by path and line
};

/// Counts from now on, from nothing. Only where !device_has_clock(); else take_profile() is empty.
void start_profile();
/// The kernels launched since, in the order of their first launch; counts no longer. Finding the
/// lines takes a moment.
std::vector<KernelProfile> take_profile(bool with_lines);

}  // namespace tutorial
