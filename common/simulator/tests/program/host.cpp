// A source without kernels: nothing in it is rewritten, and its accesses are not watched.
#ifdef __CUDACC__
#error "compiled as a .cu file is"
#endif

int of_host(const int* from, int at) {
  return from[at];
}
