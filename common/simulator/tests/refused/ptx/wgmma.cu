// refused: wgmma.cu:7:[0-9]*: .*inline PTX: wgmma.fence.sync.aligned .*: common/kernel/wgmma.cuh
static __device__ void nobody_calls_it() {
  asm volatile("tcgen05.fence::after_thread_sync;");
}
__global__ void k(unsigned* out) {
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(out[0]));
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
