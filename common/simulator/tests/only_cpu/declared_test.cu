// What public code includes or asks for and a kernel has no need of: it compiles, does nothing, or
// is refused where it is called.
#include <cublasLt.h>
#include <cuda.h>
#include <math.h>
#include <nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <string>

#include "common/simulator/tests/only_cpu/outcome.hpp"

// As NVIDIA's helper_math.h has it.
inline float lerp(float a, float b, float t) {
  return a + t * (b - a);
}

void CUDART_CB called(cudaStream_t, cudaError_t, void* data) {
  *static_cast<int*>(data) = 3;
}

#if !defined(__CUDA_RUNTIME_H__) || !defined(__DRIVER_TYPES_H__) || !defined(CUBLAS_API_H_) || \
    !defined(__cuda_cuda_h__)
#error "a guard of the toolkit's is missing"
#endif

TEST_CASE("a name that CUDA does not declare is the program's", "[declared]") {
  CHECK(lerp(1.0f, 3.0f, 0.5f) == 2.0f);
  int value = 0;
  CHECK(cudaStreamAddCallback(nullptr, called, &value, 0) == cudaSuccess);
  CHECK(value == 3);
}

TEST_CASE("NVTX does nothing", "[declared]") {
  nvtxRangePush("a");
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.message.ascii = "b";
  nvtxRangePushEx(&event);
  CHECK(nvtxRangePop() < 0);
  nvtxNameCudaStreamA(nullptr, "c");
}

TEST_CASE("cuBLASLt: a handle is made, a product is refused with its line", "[declared]") {
  cublasLtHandle_t handle = nullptr;
  CHECK(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(handle != nullptr);
  cublasLtMatmulDesc_t product = nullptr;
  CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
        CUBLAS_STATUS_SUCCESS);
  const cublasStatus_t status =
      cublasLtMatmul(handle, product, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr);
  CHECK(status == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("call of cublasLtMatmul()  declared_test.cu:") &&
                 ContainsSubstring("not on the CPU backend: cublasGemmEx() and cublasSgemm()"));
  CHECK(cublasLtMatmulDescDestroy(product) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("one device has no peer", "[declared]") {
  int value = 0;
  CHECK(cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1) ==
        cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}

TEST_CASE("the driver's errors have names", "[declared]") {
  const char* text = nullptr;
  CHECK(cuGetErrorName(CUDA_ERROR_INVALID_DEVICE, &text) == CUDA_SUCCESS);
  CHECK(text == std::string("CUDA_ERROR_INVALID_DEVICE"));
  CHECK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
  CHECK(text == std::string("invalid argument"));
  CHECK(cuGetErrorName(static_cast<CUresult>(12345), &text) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text == nullptr);
}
