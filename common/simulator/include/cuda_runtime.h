// The part of the CUDA runtime that the tutorial and a learner's experiments use, for the CPU
// backend. Names, values and behaviour are NVIDIA's (CUDA C++ Programming Guide; CUDA Runtime API
// reference).
#pragma once

// The toolkit's headers have these guards, and public code asks for them: NVIDIA's helper_cuda.h
// declares checkCudaErrors() only where it sees two of them.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __DEVICE_TYPES_H__
#define __HOST_DEFINES_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
// What nvcc says of itself. (CUDA Compiler Driver NVCC, "Compilation Phases".)
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 0

#include "device_functions.h"
#include "simulator/launch_site.h"
#include "simulator/runtime_api.h"
#include "vector_types.h"
