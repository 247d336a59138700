// refused: ptx.cu:4:[0-9]*: .*inline PTX \(asm\) is not on the CPU backend: docs/try.md
__global__ void k(unsigned* out) {
  unsigned lane = 0;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  out[threadIdx.x] = lane;
}
