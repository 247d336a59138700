// A program as a learner brings it: kernels in headers beside it, a second source, arguments, an
// exit status. The tests run it (common/CMakeLists.txt).
#include <cstdio>
#include <cstring>

#include "parts/reverse.cuh"

int more(int* values, int count);      // more.cu
int of_host(const int* from, int at);  // host.cpp

__global__ void race(int* values) {
  values[0] = threadIdx.x;
}

__global__ void number(int* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

// Of 100 elements 96 have a thread.
void too_small_a_grid() {
  int* values = nullptr;
  cudaMalloc(&values, 100 * sizeof(int));
  number<<<100 / 32, 32>>>(values);
  cudaFree(values);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  int host[64], *values = nullptr;
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMalloc(&values, sizeof host);
  cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
  reverse(values, 64);
  if (std::strcmp(what, "race") == 0) race<<<1, 64>>>(values);
  if (std::strcmp(what, "refused") == 0) race<<<1, 2048>>>(values);
  if (std::strcmp(what, "short") == 0) too_small_a_grid();
  const int sum = more(values, 64);
  cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("first %d sum %d\n", of_host(host, 0), sum);
  if (std::strcmp(what, "tidy") == 0) {
    cudaGetLastError();
    cudaFree(values);
  }
  return std::strcmp(what, "status") == 0 ? 7 : 0;
}
