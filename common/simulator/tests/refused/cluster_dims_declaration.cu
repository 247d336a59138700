// refused: cluster_dims_declaration.cu:2:[0-9]*: .*has __cluster_dims__.x. only where
__global__ void __cluster_dims__(2, 1, 1) k(int* p);
void go(int* p) {
  k<<<2, 1>>>(p);
}
