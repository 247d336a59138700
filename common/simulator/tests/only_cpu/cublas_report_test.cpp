// What only the simulator's cuBLAS does: it reports a matrix that is not in global memory.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/device/report.hpp"

using Catch::Matchers::ContainsSubstring;

TEST_CASE("cublas: a matrix outside global memory is reported", "[simulator]") {
  cublasHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  float *A = nullptr, *B = nullptr, *C = nullptr;
  for (float** matrix : {&A, &B, &C}) CUDA_CHECK(cudaMalloc(matrix, 16 * sizeof(float)));
  std::vector<float> host(16);
  const auto status = [&](const float* a, int ldb, float* c) {
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a, 4, B, ldb, &zero, c, 4);
  };
  const auto report_of_failure = [&](cublasStatus_t got) {
    CHECK(got == CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    static_cast<void>(cudaGetLastError());
    return simulator::last_report();
  };
  CHECK_THAT(report_of_failure(status(host.data(), 4, C)),
             ContainsSubstring("cublasSgemm, matrix A: 4x4") &&
                 ContainsSubstring("does not begin in global memory"));
  CHECK_THAT(report_of_failure(status(A, 5, C)),
             ContainsSubstring("matrix B: 4x4 with a leading dimension of 5") &&
                 ContainsSubstring("does not end in global memory"));
  CHECK_THAT(report_of_failure(status(A, 4, C + 1)), ContainsSubstring("matrix C"));
  CHECK_THAT(
      report_of_failure(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one,
                                                  A, 2, 4, B, 2, 8, &zero, C, 2, 4, 4)),
      ContainsSubstring("matrix B of product 2"));
  CHECK(status(A, 4, C) == CUBLAS_STATUS_SUCCESS);
  for (float* matrix : {A, B, C}) CUDA_CHECK(cudaFree(matrix));
  CUBLAS_CHECK(cublasDestroy(handle));
}

TEST_CASE("cublas: a list of pointers outside global memory is reported", "[simulator]") {
  cublasHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasCreate(&handle));
  const float one = 1, zero = 0;
  float* matrix = nullptr;
  void** list = nullptr;
  CUDA_CHECK(cudaMalloc(&matrix, 16 * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&list, 2 * sizeof(void*)));
  std::vector<float> on_host(16, 1.0f);
  const std::vector<void*> good = {matrix, matrix}, bad = {matrix, on_host.data()};
  const auto report = [&](const std::vector<void*>& pointers, const void* const* b) {
    CUDA_CHECK(cudaMemcpy(list, pointers.data(), 2 * sizeof(void*), cudaMemcpyHostToDevice));
    CHECK(cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, list, CUDA_R_32F, 4,
                              b, CUDA_R_32F, 4, &zero, list, CUDA_R_32F, 4, 2, CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    static_cast<void>(cudaGetLastError());
    return simulator::last_report();
  };
  CHECK_THAT(report(good, good.data()),
             ContainsSubstring("the 2 pointers to the matrices B are not in global memory"));
  CHECK_THAT(report(good, list + 1), ContainsSubstring("the 2 pointers to the matrices B"));
  CHECK_THAT(report(bad, list), ContainsSubstring("matrix C of product 1"));
  CUDA_CHECK(cudaFree(list));
  CUDA_CHECK(cudaFree(matrix));
  CUBLAS_CHECK(cublasDestroy(handle));
}

TEST_CASE("cublas: TF32 keeps 10 bits and rounds a tie away from zero", "[simulator]") {
  cublasHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  const float one = 1, zero = 0;
  for (const auto& [value, want] : {std::pair{1 + 0x1p-10f, 1 + 0x1p-10f},
                                    {1 + 0x1p-11f, 1 + 0x1p-10f},
                                    {1 + 0x1p-12f, 1.0f},
                                    {-1 - 0x1p-11f, -1 - 0x1p-10f},
                                    {-1 - 0x1.fp-12f, -1.0f}}) {
    const tutorial::DeviceBuffer<float> A(std::vector{value}), B(std::vector{1.0f});
    tutorial::DeviceBuffer<float> C(1);
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, A.data(), 1, B.data(),
                             1, &zero, C.data(), 1));
    CHECK(C.to_host()[0] == want);
  }
  CUBLAS_CHECK(cublasDestroy(handle));
}

TEST_CASE("cublas: what is not supported is refused", "[simulator]") {
  cublasHandle_t handle = nullptr;
  CUBLAS_CHECK(cublasCreate(&handle));
  CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST) == CUBLAS_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  tutorial::DeviceBuffer<float> memory(48);
  float* const M = memory.data();
  const auto status = [&](cudaDataType type, cublasComputeType_t compute) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, M, type, 4, M + 16, type,
                        4, &zero, M + 32, CUDA_R_32F, 4, compute, CUBLAS_GEMM_DEFAULT);
  };
  CHECK(status(CUDA_R_64F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDA_R_16BF, CUBLAS_COMPUTE_32F_FAST_TF32) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF) == CUBLAS_STATUS_NOT_SUPPORTED);
  CUBLAS_CHECK(cublasDestroy(handle));
}
