// An owning array in global memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial {

namespace detail {
void* device_allocate(int64_t bytes);  // poisoned; throws Error when too little memory is free
void device_free(void* memory) noexcept;
void device_poison(void* memory, int64_t bytes);
std::vector<unsigned char> device_bytes(const void* memory, int64_t bytes);
}  // namespace detail

/// `count` elements of global memory, freed with the object.
///
/// New memory is filled with 0xff bytes, which is NaN for float and double: an element that a
/// kernel forgets to write cannot pass for a result. `offset` moves data() by that many elements
/// from the allocation's 256-byte alignment, so that tests can try every alignment that a float*
/// can have. Around the elements lie guard zones of 0xff bytes; `guards_intact()` says whether they
/// still are. Errors: tutorial::Error when the device has too little free memory, CudaError
/// otherwise.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(int64_t count, int64_t offset = 0)
      : count_(count), lead_(kGuard + offset * int64_t{sizeof(T)}) {
    memory_ = static_cast<unsigned char*>(detail::device_allocate(bytes_in_all()));
    mark_device_memory_elements(data(), count_ * int64_t{sizeof(T)}, sizeof(T));
  }
  explicit DeviceBuffer(const std::vector<T>& host, int64_t offset = 0)
      : DeviceBuffer(static_cast<int64_t>(host.size()), offset) {
    from_host(host);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(count_, other.count_);
    std::swap(lead_, other.lead_);
    return *this;
  }
  ~DeviceBuffer() { detail::device_free(memory_); }

  T* data() { return reinterpret_cast<T*>(memory_ + lead_); }
  const T* data() const { return reinterpret_cast<const T*>(memory_ + lead_); }
  int64_t size() const { return count_; }

  void from_host(const std::vector<T>& host) {
    CUDA_CHECK(cudaMemcpy(data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  /// Waits for the device, so a kernel's own error shows here.
  std::vector<T> to_host() const {
    std::vector<T> host(static_cast<size_t>(count_));
    CUDA_CHECK(cudaMemcpy(host.data(), data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  /// Fills the elements and the guard zones with 0xff bytes again.
  void poison() { detail::device_poison(memory_, bytes_in_all()); }
  bool guards_intact() const {
    const int64_t after = lead_ + count_ * int64_t{sizeof(T)};
    for (unsigned char byte : detail::device_bytes(memory_, lead_))
      if (byte != 0xff) return false;
    for (unsigned char byte : detail::device_bytes(memory_ + after, bytes_in_all() - after))
      if (byte != 0xff) return false;
    return true;
  }

 private:
  static constexpr int64_t kGuard = 256;  // bytes; keeps data() 256-byte aligned at offset 0
  int64_t bytes_in_all() const { return lead_ + count_ * int64_t{sizeof(T)} + kGuard; }

  unsigned char* memory_ = nullptr;
  int64_t count_ = 0;
  int64_t lead_ = 0;
};

/// All of a buffer, for a launcher that wants a workspace.
template <class T>
Workspace workspace_in(DeviceBuffer<T>& buffer) {
  return {.memory = buffer.data(), .bytes = buffer.size() * int64_t{sizeof(T)}};
}

}  // namespace tutorial
