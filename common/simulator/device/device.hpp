// The simulated device: its properties, its memory and the error state of the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "common/simulator/world/pages.hpp"
#include "simulator/runtime_api.h"

namespace simulator {

inline constexpr size_t kSharedPerBlock = 48 * 1024;        // without opt-in
inline constexpr size_t kSharedPerBlockOptin = 227 * 1024;  // the most that any device here has
inline constexpr int kMultiprocessors = 132;

/// What differs between the GPUs that the simulator can be.
struct Architecture {
  int capability;           // 75: compute capability 7.5
  size_t shared_per_block;  // with opt-in
  size_t shared_reserved;   // of each block, by the driver
  int threads, blocks;      // of a multiprocessor

  size_t shared_per_multiprocessor() const { return shared_per_block + shared_reserved; }
  bool has_clusters() const { return capability >= 90; }
};
/// All that it can be, the oldest first.
std::span<const Architecture> architectures();
/// An H100's, or that of the compute capability that SIMULATOR_CAPABILITY in the environment says.
const Architecture& architecture();

// ---- Memory. All of it lies in one range of addresses, so that an access is classified by two
// comparisons. Each allocation has pages of its own that end where it ends, and pages that nobody
// may touch around them.

inline constexpr uintptr_t kDeviceSpan = uintptr_t{1} << (kIsSmallWorld ? 28 : 38);
/// Where the range begins.
uintptr_t device_begin();
inline bool is_device_address(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - device_begin() < kDeviceSpan;
}

/// What SIMULATOR_MEMORY in the environment says at the moment; else half of what this process may
/// use: the rest is for the host's side of the program. And what is left of it.
size_t device_memory_size();
size_t free_device_memory();

/// What the owner of an allocation may use of it: all, or the elements of a buffer.
struct Allocation {
  uintptr_t begin = 0;
  size_t bytes = 0;
  size_t element = 0;    // bytes; 0: not known
  uint32_t made_by = 0;  // the operation of cudaMallocAsync, or 0
};
/// Null where too little memory is left. `made_by`: as above.
void* allocate_device_memory(size_t bytes, uint32_t made_by);
/// False where none was allocated there.
bool release_device_memory(void* pointer);

/// All bytes of the live allocation that holds this address, guards too, or 0 bytes.
Allocation whole_allocation(const void* address);
/// The live allocation that holds this address, or one of 0 bytes.
Allocation find_allocation(const void* address);
/// The live allocation nearest to the address, or one of 0 bytes when there is none.
Allocation nearest_allocation(const void* address);
/// The allocation that held this address and was freed, as far as that is remembered.
Allocation freed_allocation(const void* address);

/// Only these elements of the allocation that holds them are for kernels; around them lie guards.
void set_elements(const void* elements, size_t bytes, size_t element);
/// The host, too, may use this allocation (cudaMallocManaged).
void share_with_host(const void* allocation);
/// May the host use it?
bool is_managed(const void* address);
/// Is this host memory that kernels may use (cudaMallocHost, cudaHostRegister)?
bool is_pinned(const void* address);
void pin(void* memory, size_t bytes);
bool unpin(const void* memory);
/// A __device__ variable whose address the program has asked for: like global memory for a copy.
bool is_symbol(const void* pointer, size_t bytes);
/// What was never freed: the allocations in the order of their addresses.
std::vector<Allocation> live_allocations();
/// cudaDeviceReset() has freed them all: they are no longer among the live ones.
void forget_live_allocations();
/// Addresses that were given out while launches were planned, and are free now, are given out
/// again.
void forget_planned_memory();

// ---- Errors of the runtime. The last error is per host thread, a kernel's fault the device's.

void set_last_error(cudaError_t error, bool of_a_launch = false);
/// Did a launch leave the last error? Only cudaGetLastError tells it; a call also returns its own.
bool last_error_is_of_a_launch();
/// The device's fault, which is then forgotten.
cudaError_t take_kernel_fault();
/// A kernel's fault shows at cudaGetLastError, or else at the next call that waits for the device.
void set_kernel_fault(cudaError_t error);

// ---- Kernels

/// The dynamic shared memory that a launch of this kernel may ask for, when it has `fixed` bytes of
/// static shared memory: what is left of 48 KB, or what cudaFuncSetAttribute allowed.
size_t dynamic_shared_limit(const void* kernel, size_t fixed);
/// How many blocks a cluster of this kernel may have: 8, or 16 if cudaFuncSetAttribute allowed it,
/// or allowed it to any kernel where it is not known which one this is.
unsigned most_blocks_of_cluster(const void* kernel);
/// Takes back what cudaFuncSetAttribute allowed to kernels.
void forget_allowances();
/// Those that were not refused.
unsigned launches_made();
/// Launches by <<<…>>> since cudaGetLastError() or cudaPeekAtLastError() was called, and where the
/// first of them is.
struct NotAsked {
  unsigned launches = 0;
  std::source_location first = {};
};
NotAsked launches_not_asked();
/// A note on stderr where the program has run for so long.
void tell_when_slow(double seconds);
void note_launch(const std::source_location& where);

}  // namespace simulator
