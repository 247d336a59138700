// For the tests of the program: cuBLAS in place of step 4, and wrong where they say so.
#include "any_shape/any_shape.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"

namespace tutorial::tiled_matmul::any_shape {

void thin_tiles(const ScaledProduct& x, const float* A, const float* B, float* C, Workspace,
                cudaStream_t) {
  static const CublasHandle handle;
  row_major_gemm(handle, x.M, x.N, x.K, x.alpha, A, B, x.beta, C);
  spoil(C);
}

}  // namespace tutorial::tiled_matmul::any_shape
