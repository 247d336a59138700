// For the tests of the program: cuBLAS in place of two steps, step 2 wrong where they say so.
#include "common/data/device_buffer.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {

void one_product(const Tf32Product& x, const float* A, const float* B, float* C, cudaStream_t) {
  static const CublasHandle handle(Precision::tf32);
  row_major_gemm(handle, x.M, x.N, x.K, 1, A, B, 0, C);
}

void three_products(const Tf32Product& x, const float* A, const float* B, float* C, cudaStream_t) {
  static const CublasHandle handle;
  row_major_gemm(handle, x.M, x.N, x.K, 1, A, B, 0, C);
  spoil(C);
}

}  // namespace tutorial::tiled_matmul::tf32
