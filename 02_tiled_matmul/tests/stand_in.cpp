// For the tests of the program: cuBLAS in place of step 1, and wrong where they say so.
#include "02_tiled_matmul.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"

namespace tutorial::tiled_matmul {

void shared_tile(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, 1, A, B, 0, C);
  spoil(C);
}

}  // namespace tutorial::tiled_matmul
