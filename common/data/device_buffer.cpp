#include "common/data/device_buffer.hpp"

#include "common/backend/backend.hpp"
#include "common/data/text.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::detail {

void* device_allocate(int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // forget the error, else the next launch check would report it
    size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    throw Error("this needs " + with_prefix(static_cast<double>(bytes), "B") +
                " more of global memory and " + with_prefix(static_cast<double>(free_bytes), "B") +
                " are free; choose smaller sizes");
  }
  CUDA_CHECK(status);
  try {
    device_poison(memory, bytes);
  } catch (...) {
    device_free(memory);
    throw;
  }
  return memory;
}

// A destructor calls this, so an error is not thrown. A kernel's error that shows here first has
// been, or will be, reported by the check that follows the launch or by the next copy.
void device_free(void* memory) noexcept {
  if (memory != nullptr) cudaFree(memory);
}

void device_poison(void* memory, int64_t bytes) {
  if (memory == nullptr) return;
  CUDA_CHECK(cudaMemset(memory, 0xff, static_cast<size_t>(bytes)));
  mark_device_memory_unwritten(memory, bytes);
}

std::vector<unsigned char> device_bytes(const void* memory, int64_t bytes) {
  if (memory == nullptr) return {};
  std::vector<unsigned char> host(static_cast<size_t>(bytes));
  CUDA_CHECK(cudaMemcpy(host.data(), memory, host.size(), cudaMemcpyDeviceToHost));
  return host;
}

}  // namespace tutorial::detail
