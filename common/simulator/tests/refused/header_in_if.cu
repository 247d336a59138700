// refused: header_in_if.cu:6:[0-9]*: fatal error: Thrust: not on the CPU backend; copy
#if 0
#include <cub/cub.cuh>
#endif
#ifdef __CUDACC__
#include <thrust/device_vector.h>
#endif
