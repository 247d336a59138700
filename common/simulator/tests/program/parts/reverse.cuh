#ifndef REVERSE_CUH
#define REVERSE_CUH

#include "count.h"

extern __shared__ int reversed[];

static __global__ void reverse_kernel(int* values, int count) {
  const int i = threadIdx.x;
  if (i < count) reversed[last(count) - i] = values[i];
  __syncthreads();
  if (i < count) values[i] = reversed[i];
}

inline void reverse(int* values, int count) {
  reverse_kernel<<<1, count, count * sizeof(int)>>>(values, count);
}

#endif
