#include "common/measure/row_major_blas.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

int as_int(const char* name, int64_t size) {
  if (size < 0 || size > std::numeric_limits<int>::max())
    throw Error("cuBLAS takes sizes from 0 to 2147483647 and " + std::string(name) + " is " +
                std::to_string(size) + "; choose a smaller one");
  return static_cast<int>(size);
}

/// What cuBLAS is told of the sizes. A leading dimension is the distance from one of its columns,
/// which is one of our rows, to the next; it must not be 0.
struct Sizes {
  Sizes(int64_t M, int64_t N, int64_t K, Transpose transpose)
      : m(as_int("N", N)), n(as_int("M", M)), k(as_int("K", K)) {
    // Where B is stored as N×K, cuBLAS reads Bᵀ (K×N) and is to turn it back into B.
    left = transpose == Transpose::b ? CUBLAS_OP_T : CUBLAS_OP_N;
    left_ld = std::max(transpose == Transpose::b ? k : m, 1);
    right_ld = std::max(k, 1);
    out_ld = std::max(m, 1);
  }
  int m, n, k;
  cublasOperation_t left;
  int left_ld, right_ld, out_ld;
};

/// One product of elements of 16 bits, added up in fp32. Cᵀ = Bᵀ·Aᵀ: B first, then A.
void narrow_gemm(cublasHandle_t handle, const Sizes& s, cudaDataType in, const void* A, int lda,
                 const void* B, int ldb, cudaDataType out, void* C, int ldc) {
  const float alpha = 1, beta = 0;
  CUBLAS_CHECK(cublasGemmEx(handle, s.left, CUBLAS_OP_N, s.m, s.n, s.k, &alpha, B, in, ldb, A, in,
                            lda, &beta, C, out, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

void bf16_gemm(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
               const Bf16Matrices& x, void* C, cudaDataType type, Transpose transpose) {
  if (batch == 0 || M == 0 || N == 0) return;
  const Sizes s(M, N, K, transpose);
  const int count = as_int("the batch", batch),
            left_ld = as_int("ldb", std::max<int64_t>(x.ldb, 1)),
            right_ld = as_int("lda", std::max<int64_t>(x.lda, 1)), out_ld = as_int("ldc", x.ldc);
  const float alpha = 1, beta = 0;
  if (count == 1)
    narrow_gemm(handle, s, CUDA_R_16BF, x.A, right_ld, x.B, left_ld, type, C, out_ld);
  else
    CUBLAS_CHECK(cublasGemmStridedBatchedEx(
        handle, s.left, CUBLAS_OP_N, s.m, s.n, s.k, &alpha, x.B, CUDA_R_16BF, left_ld, x.stride_b,
        x.A, CUDA_R_16BF, right_ld, x.stride_a, &beta, C, type, out_ld, x.stride_c, count,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

void half_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __half* A,
               const __half* B, cudaDataType out, void* C) {
  if (M == 0 || N == 0) return;
  const Sizes s(M, N, K, Transpose::none);
  narrow_gemm(handle, s, CUDA_R_16F, A, s.right_ld, B, s.left_ld, out, C, s.out_ld);
}

/// One product of matrices without gaps.
Bf16Matrices tight(int64_t N, int64_t K, const __nv_bfloat16* A, const __nv_bfloat16* B) {
  return {
      .A = A, .B = B, .lda = K, .ldb = N, .ldc = N, .stride_a = 0, .stride_b = 0, .stride_c = 0};
}

}  // namespace

CublasHandle::CublasHandle(Precision precision) {
  CUBLAS_CHECK(cublasCreate(&handle_));
  // Pedantic: float32 in every step of the arithmetic, no tensor cores.
  CUBLAS_CHECK(cublasSetMathMode(
      handle_, precision == Precision::tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH));
}

CublasHandle::~CublasHandle() {
  cublasDestroy(handle_);
}

void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, float alpha,
                    const float* A, const float* B, float beta, float* C, Transpose transpose) {
  if (M == 0 || N == 0) return;
  const Sizes s(M, N, K, transpose);
  // Cᵀ = Bᵀ·Aᵀ: B first, then A.
  CUBLAS_CHECK(cublasSgemm(handle, s.left, CUBLAS_OP_N, s.m, s.n, s.k, &alpha, B, s.left_ld, A,
                           s.right_ld, &beta, C, s.out_ld));
}

void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __nv_bfloat16* A,
                    const __nv_bfloat16* B, float* C) {
  bf16_gemm(handle, 1, M, N, K, tight(N, K, A, B), C, CUDA_R_32F, Transpose::none);
}
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __nv_bfloat16* A,
                    const __nv_bfloat16* B, __nv_bfloat16* C) {
  bf16_gemm(handle, 1, M, N, K, tight(N, K, A, B), C, CUDA_R_16BF, Transpose::none);
}
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __half* A,
                    const __half* B, float* C) {
  half_gemm(handle, M, N, K, A, B, CUDA_R_32F, C);
}
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __half* A,
                    const __half* B, __half* C) {
  half_gemm(handle, M, N, K, A, B, CUDA_R_16F, C);
}
void row_major_gemm_batched(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                            const Bf16Matrices& matrices, float* C, Transpose transpose) {
  bf16_gemm(handle, batch, M, N, K, matrices, C, CUDA_R_32F, transpose);
}
void row_major_gemm_batched(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                            const Bf16Matrices& matrices, __nv_bfloat16* C, Transpose transpose) {
  bf16_gemm(handle, batch, M, N, K, matrices, C, CUDA_R_16BF, transpose);
}

void row_major_gemm_batched(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                            float alpha, const float* A, int64_t stride_a, const float* B,
                            int64_t stride_b, float beta, float* C, int64_t stride_c,
                            Transpose transpose) {
  if (batch == 0 || M == 0 || N == 0) return;
  const Sizes s(M, N, K, transpose);
  const int count = as_int("the batch", batch);
  CUBLAS_CHECK(cublasSgemmStridedBatched(handle, s.left, CUBLAS_OP_N, s.m, s.n, s.k, &alpha, B,
                                         s.left_ld, stride_b, A, s.right_ld, stride_a, &beta, C,
                                         s.out_ld, stride_c, count));
}

void row_major_gemm_pointers(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                             float alpha, const float* const* A, int64_t lda, const float* const* B,
                             int64_t ldb, float beta, float* const* C, int64_t ldc,
                             Transpose transpose) {
  if (batch == 0 || M == 0 || N == 0) return;
  const Sizes s(M, N, K, transpose);
  const int count = as_int("the batch", batch), left_ld = as_int("ldb", ldb),
            right_ld = as_int("lda", lda), out_ld = as_int("ldc", ldc);
  // Of the routines for lists of pointers we take the one that is told how to compute.
  cublasMath_t math{};
  CUBLAS_CHECK(cublasGetMathMode(handle, &math));
  const auto compute = math == CUBLAS_TF32_TENSOR_OP_MATH ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                          : CUBLAS_COMPUTE_32F_PEDANTIC;
  const auto any = [](const float* const* list) {
    return reinterpret_cast<const void* const*>(list);
  };
  CUBLAS_CHECK(cublasGemmBatchedEx(handle, s.left, CUBLAS_OP_N, s.m, s.n, s.k, &alpha, any(B),
                                   CUDA_R_32F, left_ld, any(A), CUDA_R_32F, right_ld, &beta,
                                   reinterpret_cast<void* const*>(C), CUDA_R_32F, out_ld, count,
                                   compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace tutorial
