// refused: cluster_dims_in_if.cu:4:[0-9]*: .*has __cluster_dims__.x. only where
__global__ void
#if __CUDA_ARCH__ >= 900
__cluster_dims__(2)
#endif
    k(int* p) {
  *p = 1;
}
