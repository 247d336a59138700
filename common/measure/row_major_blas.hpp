// cuBLAS for row-major matrices.
//
// cuBLAS reads memory column by column, as Fortran does. A row-major matrix X read in this way is
// its transpose Xᵀ, and nothing has to move. So we ask cuBLAS for another product:
//
//   C = A·B   is the same as   Cᵀ = Bᵀ·Aᵀ
//
// The memory of B is its left operand, that of A its right operand, M and N change places, and the
// Cᵀ that it writes column by column is C row by row.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tutorial {

/// How cuBLAS multiplies float32 numbers: exactly as they are, or first rounded to TF32 (10 bits
/// behind the point instead of 23), which tensor cores take.
enum class Precision { fp32, tf32 };

/// An owning cuBLAS handle. Its calls go to the default stream.
class CublasHandle {
 public:
  explicit CublasHandle(Precision precision = Precision::fp32);
  ~CublasHandle();
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;
  operator cublasHandle_t() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

/// Which operand to take transposed: `b` computes A·Bᵀ from a B that is stored as N×K.
enum class Transpose { none, b };

/// C = alpha·A·B + beta·C in float32. A is M×K, B K×N (N×K for Transpose::b), C M×N: row-major,
/// without gaps, in global memory. Sizes are >= 0: an empty C is left alone, and K = 0 gives
/// beta·C. beta = 0 does not read C. Throws Error for a size that cuBLAS's int cannot hold.
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, float alpha,
                    const float* A, const float* B, float beta, float* C,
                    Transpose transpose = Transpose::none);

/// C = A·B for A and B in bf16, added up in fp32; C in float32 or rounded to bf16.
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __nv_bfloat16* A,
                    const __nv_bfloat16* B, float* C);
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __nv_bfloat16* A,
                    const __nv_bfloat16* B, __nv_bfloat16* C);
/// The same for A and B in fp16; C in float32 or rounded to fp16.
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __half* A,
                    const __half* B, float* C);
void row_major_gemm(cublasHandle_t handle, int64_t M, int64_t N, int64_t K, const __half* A,
                    const __half* B, __half* C);

/// The same for `batch` products, of A (M, K) and B (K, N), or (N, K) for Transpose::b, whose rows
/// are lda, ldb and ldc elements apart; the matrices of product i begin at A + i·stride_a, and so
/// on.
struct Bf16Matrices {
  const __nv_bfloat16 *A, *B;
  int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
};
void row_major_gemm_batched(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                            const Bf16Matrices& matrices, float* C,
                            Transpose transpose = Transpose::none);
void row_major_gemm_batched(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                            const Bf16Matrices& matrices, __nv_bfloat16* C,
                            Transpose transpose = Transpose::none);

/// The first for `batch` products: the matrices of product i begin at A + i·stride_a, and so on.
void row_major_gemm_batched(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                            float alpha, const float* A, int64_t stride_a, const float* B,
                            int64_t stride_b, float beta, float* C, int64_t stride_c,
                            Transpose transpose = Transpose::none);

/// The same for matrices that lie anywhere, and whose rows may lie further apart than they are
/// long: the arrays A, B and C, in global memory, hold a pointer for each product, and from one row
/// to the next it is lda, ldb and ldc. Throws Error for these, too, where an int cannot hold them.
void row_major_gemm_pointers(cublasHandle_t handle, int64_t batch, int64_t M, int64_t N, int64_t K,
                             float alpha, const float* const* A, int64_t lda, const float* const* B,
                             int64_t ldb, float beta, float* const* C, int64_t ldc,
                             Transpose transpose = Transpose::none);

}  // namespace tutorial
