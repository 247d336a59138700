// refused: call_in_kernel.cu:6:8: .*a __global__ function call must be configured
extern "C" __global__ void inner(int* p) {
  p[threadIdx.x] = 1;
}
__global__ void outer(int* p) {
  inner(p);
}
