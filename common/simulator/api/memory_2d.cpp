// Memory by rows, each padded to a pitch; and memory of host and device both.
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/shadow.hpp"

namespace {

constexpr size_t kPitch = 512;  // of an H100, in bytes

cudaError_t refused() {
  simulator::set_last_error(cudaErrorInvalidValue);
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) return refused();
  *pointer = nullptr;
  *pitch = 0;
  if (width == 0 || height == 0) return cudaSuccess;
  const size_t padded = (width + kPitch - 1) / kPitch * kPitch;
  if (padded < width || padded > SIZE_MAX / height) {
    simulator::set_last_error(cudaErrorMemoryAllocation);
    return cudaErrorMemoryAllocation;
  }
  *pitch = padded;
  return cudaMalloc(pointer, padded * height);
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  if (width > pitch && height > 1) return refused();
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        cudaMemsetAsync(static_cast<char*>(to) + row * pitch, value, width, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  const bool is_known = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost;
  if (pointer == nullptr || bytes == 0 || !is_known) return refused();
  const cudaError_t error = cudaMalloc(pointer, bytes);
  if (error != cudaSuccess) return error;
  // The host writes it unseen: for the check it counts as written.
  simulator::mark_written(*pointer, bytes);
  simulator::share_with_host(*pointer);
  return error;
}
