// Stage 5: vaccum = att·V, a T×HS matrix for each of the B·NH heads, by cuBLAS: every query's
// result is the mean of the values, weighted with its row of att.
//
// FLOP            2·B·NH·T·T·HS
// global memory   4·B·NH·T·T + 4·B·T·C bytes read, 4·B·T·C written: about HS/2 FLOP a byte
//
// Half of a causal att is 0 and is multiplied all the same.
#include "05_unfused_attention.hpp"

namespace tutorial::unfused_attention {

void values(const Attention& a, const CublasHandle& blas, const float* att, const float* v,
            float* vaccum) {
  const int64_t head = a.T * a.HS();
  row_major_gemm_batched(blas, a.heads(), a.T, a.HS(), a.T, 1.0f, att, a.T * a.T, v, head, 0.0f,
                         vaccum, head);
}

}  // namespace tutorial::unfused_attention
