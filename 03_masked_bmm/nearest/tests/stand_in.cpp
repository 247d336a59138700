// For the tests of the program: cuBLAS and the first step's second kernel in place of step 2, wrong
// where they say so.
#include "common/measure/row_major_blas.hpp"
#include "common/testing/spoil.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

void fused_minimum(const Search& s, const float* A, const float* B, float* out, float* values,
                   Workspace, cudaStream_t stream) {
  require_can_do("fused_minimum", s);
  static const CublasHandle handle;
  DeviceBuffer<float> c(s.M * s.N);
  row_major_gemm(handle, s.M, s.N, s.D, 1.0f, A, B, 0.0f, c.data(), Transpose::b);
  row_minimum(s, c.data(), s.N, out, values, stream);
  spoil(out);
}

}  // namespace tutorial::masked_bmm::nearest
