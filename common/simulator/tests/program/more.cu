// The other source: it includes the same header, and has a kernel of the same name.
#include "parts/reverse.cuh"

namespace {
__global__ void add_up(const int* values, int count, int* sum) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(sum, values[i]);
}
}  // namespace

int more(int* values, int count) {
  reverse(values, count);
  reverse(values, count);
  int *sum = nullptr, result = 0;
  cudaMallocManaged(&sum, sizeof(int));
  *sum = 0;
  add_up<<<2, 32>>>(values, count / 2, sum);
  add_up<<<2, 32>>>(values + count / 2, count / 2, sum);
  cudaDeviceSynchronize();
  result = *sum / 2;  // of two blocks
  cudaFree(sum);
  return result;
}
