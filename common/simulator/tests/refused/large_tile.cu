// refused: a tile has 1, 2, 4, 8, 16 or 32 threads
#include <cooperative_groups.h>
__global__ void k(int* p) {
  const auto tile =
      cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block());
  p[0] = static_cast<int>(tile.size());
}
