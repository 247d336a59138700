// refused: old_shuffle.cu:3:[0-9]*: .*CUDA 9 removed __shfl_down\(\): use __shfl_down_sync
__global__ void k(int* p) {
  p[threadIdx.x] = __shfl_down(p[threadIdx.x], 1);
}
