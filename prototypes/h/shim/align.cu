#include <cstdio>
__global__ void a(unsigned* o) { extern __shared__ __align__(1024) unsigned char d[]; __shared__ unsigned long long s; s = 1; __syncthreads(); o[0] = (unsigned)__cvta_generic_to_shared(d); o[1] = (unsigned)__cvta_generic_to_shared(&s); o[2]=d[0]+s; }
__global__ void b(unsigned* o) { extern __shared__ __align__(1024) unsigned char d[]; o[0] = (unsigned)__cvta_generic_to_shared(d); }
int main() { unsigned* o; cudaMallocManaged(&o, 16); a<<<1,1,4096>>>(o); cudaDeviceSynchronize(); printf("with static: dynamic %u static %u\n", o[0], o[1]); b<<<1,1,4096>>>(o); cudaDeviceSynchronize(); printf("alone: dynamic %u\n", o[0]); }
