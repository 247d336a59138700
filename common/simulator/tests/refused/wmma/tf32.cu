// refused: tf32.cu:5:[0-9]*: .*the CPU backend has wmma of __half and __nv_bfloat16
#include <mma.h>
using namespace nvcuda::wmma;
__global__ void k(const float* in, float* out) {
  fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> b;
  load_matrix_sync(b, in, 16);
  out[0] = b.x[0];
}
