// A product of matrices on the host.
#pragma once

namespace simulator {

/// A matrix as cblas_sgemm takes it: column-major, its columns `ld` floats apart.
struct HostMatrix {
  const float* data;
  int ld;
  bool is_transposed = false;
};

/// C (m, n) = alpha · A (m, k) · B (k, n) + C, column-major, C's columns ldc floats apart.
void add_host_product(int m, int n, int k, float alpha, const HostMatrix& A, const HostMatrix& B,
                      float* C, int ldc);

}  // namespace simulator
