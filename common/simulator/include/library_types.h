// The CPU backend's library_types.h: the element types that cuBLAS's "Ex" routines take.
#pragma once

typedef enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
} cudaDataType;
typedef cudaDataType cublasDataType_t;  // its old name
