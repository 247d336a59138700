// refused: grid_barrier.cu:6:[0-9]*: .*a barrier of the whole grid .* is not on the CPU backend
#include <cooperative_groups.h>
__global__ void k(int* p) {
  p[threadIdx.x] = 1;
  const auto grid = cooperative_groups::this_grid();
  grid.sync();
}
