// The first program: y = a·x + y on the GPU. docs/00_first_kernel.md explains each line.
#include <cstdio>
#include <cstdlib>
#include <vector>

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

__device__ float multiply_add(float a, float x, float b) {
  return a * x + b;
}

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = multiply_add(a, x[i], y[i]);
}

int main() {
  const int n = 1000;
  const size_t bytes = n * sizeof(float);
  std::vector<float> x(n), y(n, 1.0f);  // in the host's memory
  for (int i = 0; i < n; ++i) x[i] = i;

  float *device_x, *device_y;  // will be addresses in global memory
  check(cudaMalloc(&device_x, bytes));
  check(cudaMalloc(&device_y, bytes));
  check(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
  check(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice));

  const int threads = 256, blocks = (n + threads - 1) / threads;
  saxpy<<<blocks, threads>>>(n, 2.0f, device_x, device_y);
  check(cudaGetLastError());       // was the launch accepted?
  check(cudaDeviceSynchronize());  // has every thread come to its end?

  check(cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost));
  check(cudaFree(device_x));
  check(cudaFree(device_y));

  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += !(y[i] == 2.0f * i + 1.0f);
  std::printf("%d blocks of %d threads for %d elements\n", blocks, threads, n);
  std::printf("y[1] = %g, y[999] = %g; %d are wrong\n", y[1], y[999], wrong);
  return wrong > 0;
}
