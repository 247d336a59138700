// Eigen's product: it is all headers.
#include "common/simulator/world/blas.hpp"

#include <Eigen/Core>

namespace simulator {
namespace {

using Stride = Eigen::OuterStride<>;
using Const = Eigen::Map<const Eigen::MatrixXf, 0, Stride>;

Const as_stored(const HostMatrix& matrix, int rows, int cols) {
  return matrix.is_transposed ? Const(matrix.data, cols, rows, Stride(matrix.ld))
                              : Const(matrix.data, rows, cols, Stride(matrix.ld));
}

}  // namespace

void add_host_product(int m, int n, int k, float alpha, const HostMatrix& A, const HostMatrix& B,
                      float* C, int ldc) {
  Eigen::Map<Eigen::MatrixXf, 0, Stride> c(C, m, n, Stride(ldc));
  const Const a = as_stored(A, m, k), b = as_stored(B, k, n);
  if (A.is_transposed && B.is_transposed)
    c.noalias() += alpha * a.transpose() * b.transpose();
  else if (A.is_transposed)
    c.noalias() += alpha * a.transpose() * b;
  else if (B.is_transposed)
    c.noalias() += alpha * a * b.transpose();
  else
    c.noalias() += alpha * a * b;
}

}  // namespace simulator
