// The driver API, as far as programs that use the runtime ask for it.
#pragma once

#include "cuda_runtime_api.h"

#define __cuda_cuda_h__  // the driver's guard, which public code asks for
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

namespace simulator {
struct DriverError {
  CUresult result;
  const char *name, *text;
};
inline const DriverError* driver_error(CUresult result) {
  static constexpr DriverError known[] = {
      {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
      {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
      {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}};
  for (const DriverError& error : known)
    if (error.result == result) return &error;
  return nullptr;
}
}  // namespace simulator

inline CUresult cuGetErrorName(CUresult result, const char** name) {
  const simulator::DriverError* error = simulator::driver_error(result);
  if (name != nullptr) *name = error != nullptr ? error->name : nullptr;
  return name != nullptr && error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuGetErrorString(CUresult result, const char** text) {
  const simulator::DriverError* error = simulator::driver_error(result);
  if (text != nullptr) *text = error != nullptr ? error->text : nullptr;
  return text != nullptr && error != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
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

// ---- Tensor maps (tensor_map.cpp)
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
// A kernel takes one by value. GCC would remark that it once passed such parameters otherwise.
#pragma GCC diagnostic ignored "-Wpsabi"
typedef struct CUtensorMap_st {
  alignas(64) cuuint64_t opaque[16];
} CUtensorMap;
typedef enum CUtensorMapDataType_enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
} CUtensorMapDataType;
typedef enum CUtensorMapInterleave_enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B,
} CUtensorMapInterleave;
typedef enum CUtensorMapSwizzle_enum {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B,
} CUtensorMapSwizzle;
typedef enum CUtensorMapL2promotion_enum {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
} CUtensorMapL2promotion;
typedef enum CUtensorMapFloatOOBfill_enum {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
} CUtensorMapFloatOOBfill;

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* array, const cuuint64_t* extents, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
