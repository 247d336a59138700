// refused: loop.cu:3:[0-9]*: .*inline PTX: WAIT: is not .*: write the loop in C
__global__ void k(unsigned barrier) {
  asm volatile(
      "{ .reg .pred p;\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
      "@p bra DONE;\n bra WAIT;\n DONE: }" ::"r"(barrier));
}
