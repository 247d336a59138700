// refused: in_if.cu:7:[0-9]*: .*CUDA graphs: not on the CPU backend; launch the kernels
#if 0
curandState state;
#endif
struct cudaNothing;
#ifdef __CUDACC__
using cudaGraph_t = int;
#endif
