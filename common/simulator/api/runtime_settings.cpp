// Limits, hints, symbols, other ways to launch (runtime_settings.h).
#include <map>
#include <mutex>
#include <string>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/heap.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/world/symbols.hpp"
#include "simulator/launch_site.h"

using namespace simulator;

namespace {

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess) set_last_error(error);
  return error;
}
cudaError_t valid(bool is_valid) {
  return done(is_valid ? cudaSuccess : cudaErrorInvalidValue);
}

std::mutex mutex;
size_t limits[] = {1024, 1 << 20, 0, 2, 2048, 64, 0};  // what CUDA begins with; 2: the heap's own
cudaFuncCache cache_preference = cudaFuncCachePreferNone;
std::map<uintptr_t, size_t> symbols;  // __device__ variables whose address was asked for

bool is_known(cudaFuncCache preference) {
  return preference >= cudaFuncCachePreferNone && preference <= cudaFuncCachePreferEqual;
}

}  // namespace

// ---- Limits and preferences

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit < cudaLimitStackSize || limit > cudaLimitPersistingL2CacheSize)
    return done(cudaErrorUnsupportedLimit);
  if (limit == cudaLimitMallocHeapSize) return valid(set_heap_limit(value));
  const std::lock_guard lock(mutex);
  limits[limit] = value;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (value == nullptr) return done(cudaErrorInvalidValue);
  if (limit < cudaLimitStackSize || limit > cudaLimitPersistingL2CacheSize)
    return done(cudaErrorUnsupportedLimit);
  const std::lock_guard lock(mutex);
  *value = limit == cudaLimitMallocHeapSize ? heap_limit() : limits[limit];
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache preference) {
  if (is_known(preference)) cache_preference = preference;
  return valid(is_known(preference));
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* preference) {
  if (preference != nullptr) *preference = cache_preference;
  return valid(preference != nullptr);
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig preference) {
  return valid(preference >= cudaSharedMemBankSizeDefault &&
               preference <= cudaSharedMemBankSizeEightByte);
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* preference) {
  if (preference != nullptr) *preference = cudaSharedMemBankSizeFourByte;  // since sm_50
  return valid(preference != nullptr);
}
cudaError_t cudaSetDeviceFlags(unsigned int) {
  return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache preference) {
  if (kernel == nullptr) return done(cudaErrorInvalidDeviceFunction);
  return valid(is_known(preference));
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (device != 0 || peer != 0) return done(cudaErrorInvalidDevice);
  if (can != nullptr) *can = 0;
  return valid(can != nullptr);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) {
  return done(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return done(peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) {
  return done(cudaErrorInvalidDevice);  // it wants two
}

cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value) {
  if (attribute != cudaStreamAttributeAccessPolicyWindow || value == nullptr)
    return done(cudaErrorInvalidValue);
  const cudaAccessPolicyWindow& window = value->accessPolicyWindow;
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, 0);
  return valid(window.num_bytes <= static_cast<size_t>(most) && window.hitRatio >= 0 &&
               window.hitRatio <= 1 && window.missProp != cudaAccessPropertyPersisting);
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

// ---- Memory

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
  if (flags != 0) return done(cudaErrorInvalidValue);
  const bool is_host = location.type == cudaMemLocationTypeHost;
  return cudaMemPrefetchAsync(pointer, bytes, is_host ? cudaCpuDeviceId : location.id, stream);
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t) {
  if (device != 0 && device != cudaCpuDeviceId) return done(cudaErrorInvalidDevice);
  return valid(bytes > 0 && is_managed(pointer));
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  const bool is_host = location.type == cudaMemLocationTypeHost;
  return cudaMemAdvise(pointer, bytes, advice, is_host ? cudaCpuDeviceId : location.id);
}
/// CUDA Runtime API, cudaStreamAttachMemAsync: all of a managed allocation, and by one stream only
/// if that is none of the default ones.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes,
                                     unsigned int flags) {
  const bool has_flag =
      flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle;
  const Allocation all = whole_allocation(pointer);
  return valid(has_flag && is_managed(pointer) && (bytes == 0 || bytes == all.bytes) &&
               (flags != cudaMemAttachSingle || stream != nullptr));
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  if (device != 0 && device != cudaCpuDeviceId) return done(cudaErrorInvalidDevice);
  return valid(bytes > 0 && is_managed(pointer) && advice >= cudaMemAdviseSetReadMostly &&
               advice <= cudaMemAdviseUnsetAccessedBy);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return done(cudaErrorInvalidValue);
  void* const address = const_cast<void*>(pointer);
  if (is_managed(pointer))
    *attributes = {cudaMemoryTypeManaged, 0, address, address};
  else if (find_allocation(pointer).bytes > 0)
    *attributes = {cudaMemoryTypeDevice, 0, address, nullptr};
  else if (is_pinned(pointer))
    *attributes = {cudaMemoryTypeHost, 0, address, address};
  else
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned int) {
  if (memory == nullptr || bytes == 0) return done(cudaErrorInvalidValue);
  if (is_pinned(memory)) return done(cudaErrorHostMemoryAlreadyRegistered);
  pin(memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* memory) {
  return done(unpin(memory) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  if (device == nullptr || flags != 0 || !is_pinned(host)) return done(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

// ---- Symbols

cudaError_t simulator_symbol_address(void** pointer, const void* symbol, size_t bytes) {
  if (pointer == nullptr) return done(cudaErrorInvalidValue);
  const std::lock_guard lock(mutex);
  symbols[reinterpret_cast<uintptr_t>(symbol)] = bytes;
  *pointer = const_cast<void*>(symbol);
  return cudaSuccess;
}

bool simulator::is_symbol(const void* pointer, size_t bytes) {
  const std::lock_guard lock(mutex);
  const uintptr_t at = reinterpret_cast<uintptr_t>(pointer);
  const auto after = symbols.upper_bound(at);
  if (after == symbols.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return at - begin <= size && bytes <= size - (at - begin);
}

// ---- Other ways to launch

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return done(cudaErrorInvalidValue);
  const cudaError_t error = cudaStreamSynchronize(stream);
  if (error == cudaSuccess) function(data);
  return error;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) return done(cudaErrorInvalidValue);
  callback(stream, cudaStreamSynchronize(stream), data);
  return cudaSuccess;
}

cudaError_t simulator_no_cooperative_launch() {
  publish(
      "launch: a grid whose blocks wait for each other (cudaLaunchCooperativeKernel) is not on "
      "the CPU backend: make two launches of it (docs/try.md lists what is)\n",
      cudaErrorNotSupported);
  return done(cudaErrorNotSupported);
}

const char* simulator::kernel_name(const void* kernel) {
  static std::map<const void*, std::string> names;
  const std::lock_guard lock(mutex);
  std::string& name = names[kernel];
  if (name.empty()) name = function_name(kernel);
  return name.c_str();
}
