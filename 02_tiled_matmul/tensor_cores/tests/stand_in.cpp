// For the tests of the program: cuBLAS in place of step 1, and wrong where they say so.
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

void wmma(const Bf16Product& x, const bf16* A, const bf16* B, Output C, Workspace, cudaStream_t) {
  static const CublasHandle handle;
  std::visit([&](auto* to) { row_major_gemm(handle, x.M, x.N, x.K, A, B, to); }, C);
  if (float* const* to = std::get_if<float*>(&C)) spoil(*to);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
