// Which device this is, and what it can do.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/environment.hpp"
#include "common/simulator/device/plan.hpp"

using namespace simulator;

namespace {

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess) set_last_error(error);
  return error;
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr Architecture kArchitectures[] = {
    {.capability = 75,
     .shared_per_block = 64 << 10,
     .shared_reserved = 0,
     .threads = 1024,
     .blocks = 16},
    {.capability = 80,
     .shared_per_block = 163 << 10,
     .shared_reserved = 1024,
     .threads = 2048,
     .blocks = 32},
    {.capability = 86,
     .shared_per_block = 99 << 10,
     .shared_reserved = 1024,
     .threads = 1536,
     .blocks = 16},
    {.capability = 89,
     .shared_per_block = 99 << 10,
     .shared_reserved = 1024,
     .threads = 1536,
     .blocks = 24},
    {.capability = 90,
     .shared_per_block = kSharedPerBlockOptin,
     .shared_reserved = 1024,
     .threads = 2048,
     .blocks = 32},
    {.capability = 100,
     .shared_per_block = kSharedPerBlockOptin,
     .shared_reserved = 1024,
     .threads = 2048,
     .blocks = 32},
    {.capability = 120,
     .shared_per_block = 99 << 10,
     .shared_reserved = 1024,
     .threads = 1536,
     .blocks = 24},
};

}  // namespace

std::span<const Architecture> simulator::architectures() {
  return kArchitectures;
}

const Architecture& simulator::architecture() {
  if (const Architecture* planned = planned_architecture()) return *planned;
  const uint64_t wanted = number_from_environment("SIMULATOR_CAPABILITY").value_or(90);
  const auto* found = std::ranges::find(kArchitectures, wanted, [](const Architecture& known) {
    return static_cast<uint64_t>(known.capability);
  });
  if (found != std::end(kArchitectures)) return *found;
  std::string known;
  for (const Architecture& one : kArchitectures)
    known += (&one == &kArchitectures[0]                               ? ""
              : &one == &kArchitectures[std::size(kArchitectures) - 1] ? " or "
                                                                       : ", ") +
             std::to_string(one.capability);
  std::fprintf(stderr, "SIMULATOR_CAPABILITY is %s, and not %llu.\n", known.c_str(),
               static_cast<unsigned long long>(wanted));
  std::exit(2);
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return done(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return done(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return done(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}

/// An H100's, as far as they mean something here, but for what differs between architectures. What
/// means nothing here stays 0.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return done(cudaErrorInvalidValue);
  if (device != 0) return done(cudaErrorInvalidDevice);
  cudaDeviceProp& p = *properties = {};
  std::snprintf(p.name, sizeof p.name, "CPU simulator");
  size_t free = 0;
  cudaMemGetInfo(&free, &p.totalGlobalMem);
  p.sharedMemPerBlock = kSharedPerBlock;
  const Architecture& here = architecture();
  p.sharedMemPerBlockOptin = here.shared_per_block;
  p.sharedMemPerMultiprocessor = here.shared_per_multiprocessor();
  p.reservedSharedMemPerBlock = here.shared_reserved;
  p.totalConstMem = 64 * 1024;
  p.memPitch = 0x7fffffff;
  p.textureAlignment = 512;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.major = here.capability / 10;
  p.minor = here.capability % 10;
  p.multiProcessorCount = kMultiprocessors;
  p.maxThreadsPerMultiProcessor = here.threads;
  p.maxBlocksPerMultiProcessor = here.blocks;
  p.l2CacheSize = 50 << 20;
  // What of it may be set aside is a hint here, so these two are of our choice.
  p.persistingL2CacheMaxSize = p.accessPolicyMaxWindowSize = p.l2CacheSize / 4 * 3;
  p.memoryBusWidth = 5120;  // bits
  p.clockRate = p.memoryClockRate = 1'000'000;
  p.asyncEngineCount = p.deviceOverlap = p.concurrentKernels = 1;
  p.canMapHostMemory = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.clusterLaunch = here.has_clusters();
  p.managedMemory = p.concurrentManagedAccess = p.memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return done(cudaErrorInvalidValue);
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error != cudaSuccess) return error;
  const auto set = [&](auto property) {
    *value = static_cast<int>(property);
    return cudaSuccess;
  };
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return set(p.maxThreadsPerBlock);
    case cudaDevAttrMaxBlockDimX:
      return set(p.maxThreadsDim[0]);
    case cudaDevAttrMaxBlockDimY:
      return set(p.maxThreadsDim[1]);
    case cudaDevAttrMaxBlockDimZ:
      return set(p.maxThreadsDim[2]);
    case cudaDevAttrMaxGridDimX:
      return set(p.maxGridSize[0]);
    case cudaDevAttrMaxGridDimY:
      return set(p.maxGridSize[1]);
    case cudaDevAttrMaxGridDimZ:
      return set(p.maxGridSize[2]);
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return set(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return set(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return set(p.warpSize);
    case cudaDevAttrMaxPitch:
      return set(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return set(p.regsPerBlock);
    case cudaDevAttrClockRate:
      return set(p.clockRate);
    case cudaDevAttrTextureAlignment:
      return set(p.textureAlignment);
    case cudaDevAttrGpuOverlap:
      return set(p.deviceOverlap);
    case cudaDevAttrMultiProcessorCount:
      return set(p.multiProcessorCount);
    case cudaDevAttrKernelExecTimeout:
      return set(p.kernelExecTimeoutEnabled);
    case cudaDevAttrIntegrated:
      return set(p.integrated);
    case cudaDevAttrCanMapHostMemory:
      return set(p.canMapHostMemory);
    case cudaDevAttrComputeMode:
      return set(p.computeMode);
    case cudaDevAttrConcurrentKernels:
      return set(p.concurrentKernels);
    case cudaDevAttrEccEnabled:
      return set(p.ECCEnabled);
    case cudaDevAttrPciBusId:
      return set(p.pciBusID);
    case cudaDevAttrPciDeviceId:
      return set(p.pciDeviceID);
    case cudaDevAttrTccDriver:
      return set(p.tccDriver);
    case cudaDevAttrMemoryClockRate:
      return set(p.memoryClockRate);
    case cudaDevAttrGlobalMemoryBusWidth:
      return set(p.memoryBusWidth);
    case cudaDevAttrL2CacheSize:
      return set(p.l2CacheSize);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return set(p.maxThreadsPerMultiProcessor);
    case cudaDevAttrAsyncEngineCount:
      return set(p.asyncEngineCount);
    case cudaDevAttrUnifiedAddressing:
      return set(p.unifiedAddressing);
    case cudaDevAttrPciDomainId:
      return set(p.pciDomainID);
    case cudaDevAttrComputeCapabilityMajor:
      return set(p.major);
    case cudaDevAttrComputeCapabilityMinor:
      return set(p.minor);
    case cudaDevAttrStreamPrioritiesSupported:
      return set(p.streamPrioritiesSupported);
    case cudaDevAttrGlobalL1CacheSupported:
      return set(p.globalL1CacheSupported);
    case cudaDevAttrLocalL1CacheSupported:
      return set(p.localL1CacheSupported);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return set(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return set(p.regsPerMultiprocessor);
    case cudaDevAttrManagedMemory:
      return set(p.managedMemory);
    case cudaDevAttrIsMultiGpuBoard:
      return set(p.isMultiGpuBoard);
    case cudaDevAttrHostNativeAtomicSupported:
      return set(p.hostNativeAtomicSupported);
    case cudaDevAttrPageableMemoryAccess:
      return set(p.pageableMemoryAccess);
    case cudaDevAttrConcurrentManagedAccess:
      return set(p.concurrentManagedAccess);
    case cudaDevAttrComputePreemptionSupported:
      return set(p.computePreemptionSupported);
    case cudaDevAttrCooperativeLaunch:
      return set(p.cooperativeLaunch);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return set(p.sharedMemPerBlockOptin);
    case cudaDevAttrDirectManagedMemAccessFromHost:
      return set(p.directManagedMemAccessFromHost);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return set(p.maxBlocksPerMultiProcessor);
    case cudaDevAttrMaxPersistingL2CacheSize:
      return set(p.persistingL2CacheMaxSize);
    case cudaDevAttrMaxAccessPolicyWindowSize:
      return set(p.accessPolicyMaxWindowSize);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return set(p.reservedSharedMemPerBlock);
    case cudaDevAttrMemoryPoolsSupported:
      return set(p.memoryPoolsSupported);
    case cudaDevAttrClusterLaunch:
      return set(p.clusterLaunch);
  }
  return done(cudaErrorInvalidValue);
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return done(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}
