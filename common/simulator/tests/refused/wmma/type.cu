// refused: type.cu:5:[0-9]*: .*the CPU backend has wmma of __half and __nv_bfloat16
#include <mma.h>
using namespace nvcuda;
__global__ void k(const signed char* in, int* out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
  wmma::load_matrix_sync(a, in, 16);
  for (int i = 0; i < a.num_elements; ++i) out[i] = a.x[i];
}
