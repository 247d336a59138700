#include "common/simulator/world/blas.hpp"

#include <cblas.h>

namespace simulator {

void add_host_product(int m, int n, int k, float alpha, const HostMatrix& A, const HostMatrix& B,
                      float* C, int ldc) {
  cblas_sgemm(CblasColMajor, A.is_transposed ? CblasTrans : CblasNoTrans,
              B.is_transposed ? CblasTrans : CblasNoTrans, m, n, k, alpha, A.data, A.ld, B.data,
              B.ld, 1.0f, C, ldc);
}

}  // namespace simulator
