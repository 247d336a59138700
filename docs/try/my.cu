#include <cstdio>

__global__ void add(int n, const float* x, const float* y, float* z) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) z[i] = x[i] + y[i];
}

int main() {
  const int n = 1000;
  float *x, *y, *z;
  cudaMallocManaged(&x, n * sizeof(float));  // memory for the host and the device
  cudaMallocManaged(&y, n * sizeof(float));
  cudaMallocManaged(&z, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 2 * i;

  add<<<(n + 255) / 256, 256>>>(n, x, y, z);
  cudaDeviceSynchronize();

  std::printf("z[999] = %g\n", z[999]);
}
