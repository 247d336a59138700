// refused: type.cu:4:[0-9]*: .*inline PTX: mma.sync.*s32 is not .*: it has m16n8k16
__global__ void k(int* d, const int* a) {
  int c = 0;
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %4};"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(c));
}
