// Which kernels this program launches on a GPU, and what each takes of a multiprocessor.
//
// A launch, kernel<<<…>>>, ends in a call of the CUDA runtime: __cudaLaunchKernel, in toolkits
// before 13 cudaLaunchKernel, and cudaLaunchKernelExC for clusters. The linker gives these calls to
// the functions here (--wrap, in common/CMakeLists.txt), and the names __real_… to the runtime's
// own.
#include <cuda_runtime.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/backend/launch_trace.hpp"
#include "common/backend/planned_launches.hpp"
#include "common/backend/profile.hpp"
#include "common/backend/sample.hpp"

namespace tutorial {
namespace {

bool recording = false;
std::vector<KernelProfile> launched;

/// "void tutorial::(anonymous namespace)::warp_tile<4, 1>(float const*, …)" -> "warp_tile<4, 1>"
std::string short_name(const char* symbol) {
  int status = 0;
  char* const demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : symbol;
  std::free(demangled);
  const std::string unnamed = "(anonymous namespace)::";
  for (size_t at; (at = name.find(unnamed)) != std::string::npos;) name.erase(at, unnamed.size());
  const size_t parameters = name.rfind('(');
  if (parameters != std::string::npos) name.erase(parameters);
  const size_t arguments = std::min(name.find('<'), name.size());
  const size_t before = name.find_last_of(" :", arguments);
  return before == std::string::npos ? name : name.substr(before + 1);
}

/// `kernel` is a function or a cudaKernel_t: the runtime takes either.
void record(const void* kernel, dim3 grid, dim3 block, size_t dynamic_shared) {
  if (!recording) return;
  const char* symbol = nullptr;
  cudaFuncAttributes attributes;
  int blocks_per_sm = 0, device = 0, threads_per_sm = 0;
  const int threads = static_cast<int>(block.x * block.y * block.z);
  if (cudaFuncGetName(&symbol, kernel) != cudaSuccess ||
      cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, kernel, threads,
                                                    dynamic_shared) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, device) !=
          cudaSuccess) {
    cudaGetLastError();  // the launch itself will tell what is wrong
    return;
  }
  const std::string name = short_name(symbol);
  auto found = std::find_if(launched.begin(), launched.end(),
                            [&](const KernelProfile& known) { return known.kernel == name; });
  if (found == launched.end()) found = launched.insert(found, KernelProfile{.kernel = name});
  ++found->launches;
  found->takes = {
      .blocks = int64_t{grid.x} * grid.y * grid.z,
      .threads = threads,
      .registers = attributes.numRegs,
      .shared_bytes = static_cast<int64_t>(attributes.sharedSizeBytes + dynamic_shared),
      .local_bytes = static_cast<int64_t>(attributes.localSizeBytes),
      .occupancy = static_cast<double>(blocks_per_sm) * threads / threads_per_sm,
  };
}

}  // namespace

void start_profile() {
  launched.clear();
  recording = true;
}

std::vector<KernelProfile> take_profile(bool) {
  recording = false;
  return std::move(launched);
}

// A GPU does not tell what its warps touch.
void start_trace(const std::string&, int64_t) {}
TakenTrace take_trace() {
  return {};
}

// Nor is it any other GPU.
std::vector<int> planned_capabilities() {
  return {};
}
std::vector<PlannedLaunch> plan_launches(int, const std::function<void()>&) {
  return {};
}
// And it runs all blocks.
void start_sample() {}
std::vector<SampledLaunch> take_sample() {
  return {};
}

}  // namespace tutorial

extern "C" {

cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared, cudaStream_t stream) {
  tutorial::record(kernel, grid, block, shared);
  return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

#if CUDART_VERSION >= 13000
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      size_t shared, cudaStream_t stream) {
  tutorial::record(kernel, grid, block, shared);
  return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
#endif

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
  tutorial::record(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes);
  return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

}  // extern "C"
