// refused: cluster_dims_variable.cu:[23]:[0-9]*: .*constant expression
__global__ void __cluster_dims__(n) k(unsigned n) {}
