// refused: cluster_dims_macro.cu:3:[0-9]*: .*has __cluster_dims__.x. only where
#define IN_PAIRS __cluster_dims__(2)
__global__ void IN_PAIRS k(int* p) {
  *p = 1;
}
