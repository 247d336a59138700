// The host side of the CUDA runtime, continued: limits, hints, symbols, occupancy, other ways to
// launch. A hint is checked and has no effect.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime_api.h"

// ---- Limits and preferences
enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,  // of new and malloc in kernels
  cudaLimitDevRuntimeSyncDepth = 3,
  cudaLimitDevRuntimePendingLaunchCount = 4,
  cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6,
};
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};
enum cudaSharedMemConfig {  // CUDA 12's
  cudaSharedMemBankSizeDefault = 0,
  cudaSharedMemBankSizeFourByte = 1,
  cudaSharedMemBankSizeEightByte = 2,
};
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceBlockingSync 0x04  // its old name
#define cudaDeviceMapHost 0x08
#define cudaDeviceLmemResizeToMax 0x10

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache preference);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* preference);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig preference);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* preference);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache preference);
template <class... P>
cudaError_t cudaFuncSetCacheConfig(void (*kernel)(P...), cudaFuncCache preference) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), preference);
}
/// There is one device: it cannot access another's memory.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported = 2,
  cudaDevP2PAttrNativeAtomicSupported = 3,
};
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer);

/// What the L2 cache should keep of a stream's accesses.
typedef cudaLaunchAttributeID cudaStreamAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value);
cudaError_t cudaCtxResetPersistingL2Cache();

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);

// ---- Memory: where it lies, hints
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaHostRegisterReadOnly 0x08
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly = 2,
  cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4,
  cudaMemAdviseSetAccessedBy = 5,
  cudaMemAdviseUnsetAccessedBy = 6,
};
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid = 0,
  cudaMemLocationTypeDevice = 1,
  cudaMemLocationTypeHost = 2,
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};

// As CUDA 13 has the two, and as CUDA 12 has them.
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream = nullptr);
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device,
                                 cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device);
/// Managed memory that one stream alone uses, or all, or the host.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes = 0,
                                     unsigned int flags = cudaMemAttachSingle);
template <class T>
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* pointer, size_t bytes = 0,
                                     unsigned int flags = cudaMemAttachSingle) {
  return cudaStreamAttachMemAsync(stream, static_cast<void*>(pointer), bytes, flags);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void* memory);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags);
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

// ---- Symbols
/// From now on the runtime's copies and fills take this address for global memory.
cudaError_t simulator_symbol_address(void** pointer, const void* symbol, size_t bytes);
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return simulator_symbol_address(pointer, &symbol, sizeof(T));
}
template <class P, class T>
cudaError_t cudaGetSymbolAddress(P** pointer, const T& symbol) {
  return simulator_symbol_address(reinterpret_cast<void**>(pointer), &symbol, sizeof(T));
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  *bytes = sizeof(T);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = nullptr) {
  cudaStreamSynchronize(stream);
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
  cudaStreamSynchronize(stream);
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

// ---- Occupancy
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, void (*kernel)(P...), int block_size, size_t dynamic_shared, unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, dynamic_shared);
}
/// The block size, at most `limit` (0: none), with the most threads at once on a multiprocessor;
/// `dynamic_shared` gives the bytes for a block size. And as many blocks as fill the device.
template <class Kernel, class Shared>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* least_grid, int* block_size,
                                                           Kernel kernel, Shared dynamic_shared,
                                                           int limit = 0) {
  if (least_grid == nullptr || block_size == nullptr) return cudaErrorInvalidValue;
  int most = 0, multiprocessors = 0;
  *least_grid = *block_size = 0;
  for (int size = limit > 0 ? std::min(limit, 1024) : 1024; size > 0; size = (size - 1) / 32 * 32) {
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, size, static_cast<size_t>(dynamic_shared(size)));
    if (error != cudaSuccess) return error;
    if (blocks * size <= most) continue;
    most = blocks * size;
    *block_size = size;
    *least_grid = blocks;
  }
  const cudaError_t error =
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  *least_grid *= multiprocessors;
  return error;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* least_grid, int* block_size, Kernel kernel,
                                               size_t dynamic_shared = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      least_grid, block_size, kernel, [=](int) { return dynamic_shared; }, limit);
}

// ---- Other ways to launch
typedef void (*cudaHostFn_t)(void* data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* data);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags);
/// A grid whose blocks wait for each other: the CPU backend has none, and says so.
cudaError_t simulator_no_cooperative_launch();
template <class Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel, dim3, dim3, void**, size_t = 0,
                                        cudaStream_t = nullptr) {
  return simulator_no_cooperative_launch();
}

// ---- Functions of the driver, by name: cuTensorMapEncodeTiled (cuda.h)
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,
};
#define cudaEnableDefault 0x0
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found = nullptr);
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                             unsigned int version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found = nullptr);
