// For the tests of the program: cuBLAS in place of step 4, and wrong where they say so.
#include "any_shape/any_shape.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"

namespace tutorial::tiled_matmul::any_shape {

void thin_tiles(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                float alpha, float beta) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, alpha, A, B, beta, C);
  spoil(C);
}

}  // namespace tutorial::tiled_matmul::any_shape
