// The backend that is a real GPU. See backend.hpp.
#include <cuda_runtime.h>

#include "common/backend/backend.hpp"
#include "common/backend/needs.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial {
namespace {

/// Is there code for this GPU in the program? All kernels are built for the same architectures, so
/// asking about one tells.
__global__ void probe() {}

std::string version_text(int version) {  // 13020 -> "13.2"
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

cudaDeviceProp properties() {
  int device = 0;
  cudaDeviceProp found;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&found, device));
  return found;
}

/// The sentence for an error that keeps the GPU from being used.
std::string why_unusable(cudaError_t status) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);  // 0 when there is no driver
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0)
    return "no NVIDIA driver is loaded; install one and try again, or use the CPU backend (--cpu)";
  switch (status) {
    case cudaErrorInsufficientDriver:
    case cudaErrorUnsupportedPtxVersion:
      return "the NVIDIA driver is too old: it supports CUDA " + version_text(driver) +
             " and this program was built with CUDA " + version_text(runtime) +
             "; update the driver, or use the CPU backend (--cpu)";
    case cudaErrorNoDevice:
      return "no NVIDIA GPU is visible to this program; check nvidia-smi and CUDA_VISIBLE_DEVICES, "
             "or use the CPU backend (--cpu)";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return "this program was not built for the GPU at hand, " + device_description() +
             "; configure and build again on this machine (cmake --preset gpu --fresh)";
    default:
      return std::string("the GPU cannot be used: ") + cudaGetErrorString(status) +
             "; try nvidia-smi, or use the CPU backend (--cpu)";
  }
}

}  // namespace

std::string device_description() {
  const cudaDeviceProp gpu = properties();
  return std::string(gpu.name) + " (sm_" + std::to_string(10 * gpu.major + gpu.minor) + ", " +
         std::to_string(gpu.multiProcessorCount) + " SMs)";
}

bool device_has_clock() {
  return true;
}

void require_device() {
  int devices = 0;
  cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices == 0) status = cudaErrorNoDevice;
  cudaFuncAttributes attributes;
  if (status == cudaSuccess) status = cudaFuncGetAttributes(&attributes, probe);
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here, and not again by the next check
  throw Error(why_unusable(status));
}

// Launchers ask, too, so not of all properties: those take a millisecond.
std::string why_not_here(const std::string& needs) {
  return why_not_on(needs,
                    10 * device_attribute(cudaDevAttrComputeCapabilityMajor) +
                        device_attribute(cudaDevAttrComputeCapabilityMinor),
                    "this GPU");
}

LaunchProgress launch_progress() {
  return {};  // its kernels are soon done
}

void mark_device_memory_unwritten(void*, int64_t) {}
void mark_device_memory_elements(const void*, int64_t, int64_t) {}
void switch_checks(bool) {}
void set_thread_order(uint64_t) {}
void set_launch_limit(double) {}
void set_expected(std::vector<Asked>) {}
std::string last_finding() {
  return "";
}
std::string last_writer(const void*) {
  return "";
}

}  // namespace tutorial
