// A program whose only __shared__ array is filled through a pointer: as many elements as it is
// told. Behind the array there is nothing of the program's that could notice.
#include <cstdlib>

__device__ void fill(float* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = i;
}

__global__ void sum(int count, float* out) {
  __shared__ float tile[64];
  fill(tile, count);
  __syncthreads();
  if (threadIdx.x == 0) *out = tile[0] + tile[63];
}

int main(int, char** argv) {
  float* out = nullptr;
  cudaMalloc(&out, sizeof *out);
  sum<<<1, 32>>>(std::atoi(argv[1]), out);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaFree(out);
  return error != cudaSuccess;
}
