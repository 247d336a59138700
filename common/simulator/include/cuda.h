// The driver API, as far as programs that use the runtime ask for it.
#pragma once

#include "cuda_runtime_api.h"

#define CUDA_VERSION CUDART_VERSION

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_UNKNOWN = 999,
} CUresult;
typedef int CUdevice;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;

namespace simulator {
inline CUresult driver_result(cudaError_t error) {
  return error == cudaSuccess              ? CUDA_SUCCESS
         : error == cudaErrorInvalidDevice ? CUDA_ERROR_INVALID_DEVICE
                                           : CUDA_ERROR_INVALID_VALUE;
}
}  // namespace simulator

inline CUresult cuInit(unsigned int flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuDriverGetVersion(int* version) {
  return simulator::driver_result(cudaDriverGetVersion(version));
}
inline CUresult cuDeviceGetCount(int* count) {
  return simulator::driver_result(cudaGetDeviceCount(count));
}
inline CUresult cuDeviceGet(CUdevice* device, int number) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = number;
  return number == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
inline CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess || name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < length; ++i) {
    name[i] = i + 1 < length ? properties.name[i] : '\0';
    if (name[i] == '\0') break;
  }
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess && bytes != nullptr) *bytes = properties.totalGlobalMem;
  return bytes != nullptr ? simulator::driver_result(error) : CUDA_ERROR_INVALID_VALUE;
}
