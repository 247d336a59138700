// refused: cluster_dims_no_size.cu:2:[0-9]*: .*has __cluster_dims__.x. only where
__global__ void __cluster_dims__() k(int* p) {
  *p = 1;
}
