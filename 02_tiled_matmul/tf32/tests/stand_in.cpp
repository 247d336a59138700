// For the tests of the program: cuBLAS in place of two steps, step 2 wrong where they say so.
#include "common/data/device_buffer.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {

void one_product(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  static const CublasHandle handle(Precision::tf32);
  row_major_gemm(handle, M, N, K, 1, A, B, 0, C);
}

void three_products(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, 1, A, B, 0, C);
  spoil(C);
}

}  // namespace tutorial::tiled_matmul::tf32
