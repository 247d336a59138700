// Error checks for the CUDA runtime and cuBLAS.
//
// Both libraries report errors as return values that are easy to ignore, and a kernel launch
// returns nothing at all. Wrap each call, and follow each launch with CUDA_CHECK_LAUNCH().
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace tutorial {

/// A CUDA or cuBLAS call failed. `what()` reads "file:line: call: message".
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws CudaError unless `status` is success.
inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                  cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

inline void check_cublas(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaError(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                  cublasGetStatusString(status) + " (" + cublasGetStatusName(status) + ")");
}

}  // namespace tutorial

#define CUDA_CHECK(call) ::tutorial::check_cuda((call), #call, __FILE__, __LINE__)
#define CUBLAS_CHECK(call) ::tutorial::check_cublas((call), #call, __FILE__, __LINE__)

/// After a launch: was it accepted? (What the kernel does wrong while it runs shows at the next
/// call that waits for it.)
#define CUDA_CHECK_LAUNCH() ::tutorial::check_cuda(cudaGetLastError(), "launch", __FILE__, __LINE__)
