// Errors, kernel attributes.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/world/symbols.hpp"
#include "simulator/launch_site.h"

namespace simulator {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool of_launch = false;                  // that error
std::atomic<cudaError_t> kernel_fault = cudaSuccess;  // whichever host thread launched it
thread_local NotAsked not_asked;

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess) set_last_error(error);
  return error;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit",
     "limit is not supported on this architecture"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction",
     "an illegal instruction was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "cluster misconfiguration"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText& find_error(cudaError_t error) {
  for (const ErrorText& entry : kErrors)
    if (entry.error == error) return entry;
  static constexpr ErrorText kUnrecognized{cudaErrorUnknown, "unrecognized error code",
                                           "unrecognized error code"};
  return kUnrecognized;
}

std::mutex limits_mutex;
std::set<const void*>
    large_clusters;  // kernels that cudaFuncSetAttribute allowed more than 8 blocks
std::map<const void*, size_t> opted_in;  // dynamic shared memory that cudaFuncSetAttribute allowed

}  // namespace

void set_last_error(cudaError_t error, bool of_a_launch) {
  last_error = error;
  of_launch = of_a_launch;
}
void note_launch(const std::source_location& where) {
  if (not_asked.launches++ == 0) not_asked.first = where;
}
NotAsked launches_not_asked() {
  return not_asked;
}
bool last_error_is_of_a_launch() {
  return of_launch;
}
void set_kernel_fault(cudaError_t error) {
  set_last_error(error, true);
  kernel_fault = error;
}

cudaError_t take_kernel_fault() {
  return done(kernel_fault.exchange(cudaSuccess));
}

size_t dynamic_shared_limit(const void* kernel, size_t fixed) {
  const std::lock_guard lock(limits_mutex);
  size_t limit = fixed < kSharedPerBlock ? kSharedPerBlock - fixed : 0;
  for (const auto& [which, bytes] : opted_in)
    if (which == kernel || kernel == nullptr) limit = std::max(limit, bytes);
  return limit;
}

void forget_allowances() {
  const std::lock_guard lock(limits_mutex);
  opted_in.clear();
  large_clusters.clear();
}

unsigned most_blocks_of_cluster(const void* kernel) {
  const std::lock_guard lock(limits_mutex);
  const bool is_large =
      kernel == nullptr ? !large_clusters.empty() : large_clusters.contains(kernel);
  return is_large ? 16 : 8;
}

cudaError_t most_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t& config) {
  const dim3 size = cluster_of(config).value_or(dim3(1, 1, 1)), block = config.blockDim;
  const uint64_t blocks = uint64_t{size.x} * size.y * size.z;
  if (blocks == 0 || blocks > most_blocks_of_cluster(kernel) || !architecture().has_clusters()) {
    set_last_error(cudaErrorInvalidClusterSize);
    return cudaErrorInvalidClusterSize;
  }
  int of_multiprocessor = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &of_multiprocessor, kernel, static_cast<int>(block.x * block.y * block.z),
      config.dynamicSmemBytes);
  *clusters = of_multiprocessor * kMultiprocessors / static_cast<int>(blocks);
  return error;
}

}  // namespace simulator

using namespace simulator;

// A kernel's fault is forgotten once it was told; on a GPU it stays until the process ends. So one
// wrong kernel does not hide what the next one does.
cudaError_t cudaGetLastError() {
  not_asked = {};
  const cudaError_t fault = kernel_fault.exchange(cudaSuccess);
  const cudaError_t error = last_error != cudaSuccess ? last_error : fault;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() {
  not_asked = {};
  return last_error != cudaSuccess ? last_error : kernel_fault.load();
}
const char* cudaGetErrorName(cudaError_t error) {
  return find_error(error).name;
}
const char* cudaGetErrorString(cudaError_t error) {
  return find_error(error).text;
}

cudaError_t cudaDeviceReset() {
  last_error = cudaSuccess;
  kernel_fault = cudaSuccess;
  forget_live_allocations();
  return cudaSuccess;
}

// ---- Kernels

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return done(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
    return done(value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue);
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    const std::lock_guard lock(limits_mutex);
    if (value != 0)
      large_clusters.insert(kernel);
    else
      large_clusters.erase(kernel);
    return cudaSuccess;
  }
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return done(cudaErrorInvalidValue);
  if (value < 0 ||
      static_cast<size_t>(value) + static_shared_bytes(kernel) > architecture().shared_per_block)
    return done(cudaErrorInvalidValue);
  const std::lock_guard lock(limits_mutex);
  opted_in[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (attributes == nullptr) return done(cudaErrorInvalidValue);
  if (kernel == nullptr) return done(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->sharedSizeBytes = static_shared_bytes(kernel);
  attributes->maxThreadsPerBlock = 1024;
  attributes->ptxVersion = attributes->binaryVersion = architecture().capability;
  attributes->maxDynamicSharedSizeBytes =
      static_cast<int>(dynamic_shared_limit(kernel, attributes->sharedSizeBytes));
  return cudaSuccess;
}

/// By threads and shared memory alone: the simulator knows no registers.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int block_size, size_t dynamic_shared) {
  if (blocks == nullptr || block_size <= 0) return done(cudaErrorInvalidValue);
  const Architecture& here = architecture();
  const size_t shared = static_shared_bytes(kernel) + dynamic_shared + here.shared_reserved;
  const int by_threads = block_size > 1024 ? 0 : here.threads / ((block_size + 31) / 32 * 32);
  const int by_shared =
      shared == 0 ? here.blocks : static_cast<int>(here.shared_per_multiprocessor() / shared);
  *blocks = std::min({here.blocks, by_threads, by_shared});
  return cudaSuccess;
}
