// For the tests of the program: cuBLAS in place of step 1, and wrong where they say so.
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {

void alpha_beta(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                float alpha, float beta) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, alpha, A, B, beta, C);
  spoil(C);
}

}  // namespace tutorial::tiled_matmul::faster
