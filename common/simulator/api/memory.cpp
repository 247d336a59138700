// cudaMalloc and its kin, copies, fills.
#include <cstdlib>
#include <cstring>

#include "common/simulator/check/coverage.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/device/stream_order.hpp"

using namespace simulator;

namespace {

cudaError_t done(cudaError_t error) {
  if (error != cudaSuccess) set_last_error(error);
  return error;
}

/// True when [pointer, pointer + bytes) is in one live allocation.
bool in_device_memory(const void* pointer, size_t bytes) {
  const Allocation allocation = whole_allocation(pointer);
  return allocation.bytes > 0 &&
         bytes <= allocation.begin + allocation.bytes - reinterpret_cast<uintptr_t>(pointer);
}

/// One end of a copy: on the side that `device` says, and big enough?
bool fits(const void* pointer, size_t bytes, bool device) {
  if (device) return in_device_memory(pointer, bytes) || is_symbol(pointer, bytes);
  return pointer != nullptr && !is_device_address(pointer);
}

cudaError_t allocate(void** pointer, size_t bytes, uint32_t made_by) {
  if (pointer == nullptr) return done(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = allocate_device_memory(bytes, made_by);
  return done(*pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, 0);
}
cudaError_t cudaFree(void* pointer) {
  host_waits_for_all();
  look_at_coverage(find_allocation(pointer));
  if (pointer == nullptr || release_device_memory(pointer)) return cudaSuccess;
  return done(cudaErrorInvalidValue);
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate(pointer, bytes, begin_operation("cudaMallocAsync", stream).number);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return cudaSuccess;
  const Allocation all = whole_allocation(pointer);
  look_at_coverage(find_allocation(pointer));
  host_operation_writes(begin_operation("cudaFreeAsync", stream), pointer, all.bytes);
  return done(release_device_memory(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}
// Of one device; nothing is kept in it.
struct CUmemPoolHandle_st {};
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  static CUmemPoolHandle_st of_device;
  if (pool == nullptr) return done(cudaErrorInvalidValue);
  if (device != 0) return done(cudaErrorInvalidDevice);
  *pool = &of_device;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const bool is_known = attribute == cudaMemPoolAttrReleaseThreshold;
  return done(pool != nullptr && value != nullptr && is_known ? cudaSuccess
                                                              : cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  if (pointer == nullptr) return done(cudaErrorInvalidValue);
  *pointer = std::malloc(bytes);
  if (*pointer != nullptr) pin(*pointer, bytes);
  return done(*pointer != nullptr || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int) {
  return cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) {
  unpin(pointer);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) return done(cudaErrorInvalidValue);
  *free = free_device_memory();
  *total = device_memory_size();
  return cudaSuccess;
}

namespace {

cudaError_t copy(const char* what, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  const cudaError_t fault = take_kernel_fault();
  if (fault != cudaSuccess) return fault;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return done(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  const bool by_address = kind == cudaMemcpyDefault;
  const bool to_device = by_address
                             ? is_device_address(to)
                             : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = by_address
                               ? is_device_address(from)
                               : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!fits(to, bytes, to_device) || !fits(from, bytes, from_device))
    return done(cudaErrorInvalidValue);
  if (is_planning()) {
    if (!is_device_address(to)) std::memset(to, 0, bytes);
    return cudaSuccess;
  }
  const Operation now = begin_operation(what, stream);
  if (is_device_address(from)) host_operation_reads(now, from, bytes);  // and no symbol
  if (is_device_address(to)) host_operation_writes(now, to, bytes);
  std::memmove(to, from, bytes);
  if (is_device_address(to)) mark_written(to, bytes);
  return take_kernel_fault();
}

cudaError_t fill(const char* what, void* to, int value, size_t bytes, cudaStream_t stream) {
  const cudaError_t fault = take_kernel_fault();
  if (fault != cudaSuccess) return fault;
  if (bytes == 0) return cudaSuccess;
  if (!fits(to, bytes, true)) return done(cudaErrorInvalidValue);
  if (is_planning()) return cudaSuccess;
  const Operation now = begin_operation(what, stream);
  if (is_device_address(to)) host_operation_writes(now, to, bytes);
  std::memset(to, value, bytes);
  if (is_device_address(to)) mark_written(to, bytes);
  return take_kernel_fault();
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = copy("cudaMemcpy", to, from, bytes, kind, nullptr);
  host_waits(cudaStream_t{});
  return error;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy("cudaMemcpyAsync", to, from, bytes, kind, stream);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  const cudaError_t error =
      cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
  host_waits(cudaStream_t{});
  return error;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return done(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        copy("cudaMemcpy2D", static_cast<char*>(to) + row * to_pitch,
             static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return fill("cudaMemset", to, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fill("cudaMemsetAsync", to, value, bytes, stream);
}

cudaError_t simulator_copy_symbol(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) return done(cudaErrorInvalidValue);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
