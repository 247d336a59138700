// Stage 2: preatt = Q·Kᵀ, a T×T matrix for each of the B·NH heads, by cuBLAS.
//
// FLOP            2·B·NH·T·T·HS
// global memory   8·B·T·C bytes read, 4·B·NH·T·T written: about HS/2 FLOP a byte
//
// Causal or not, all T·T products are computed: a dense product cannot leave out a triangle.
// Chapters 03 and 06 can.
#include "05_unfused_attention.hpp"

namespace tutorial::unfused_attention {

void scores(const Attention& a, const CublasHandle& blas, const float* q, const float* k,
            float* preatt) {
  // Each head's K is stored as T×HS and is wanted transposed. cuBLAS reads matrices by columns; how
  // a row-major product becomes one of its own stands in common/measure/row_major_blas.hpp. Here it
  // comes to preattᵀ = K·Qᵀ by columns: k first and turned (CUBLAS_OP_T), then q as it is
  // (CUBLAS_OP_N).
  const int64_t head = a.T * a.HS();
  row_major_gemm_batched(blas, a.heads(), a.T, a.T, a.HS(), 1.0f, q, head, k, head, 0.0f, preatt,
                         a.T * a.T, Transpose::b);
}

}  // namespace tutorial::unfused_attention
