// Clusters of blocks. (A launch of clusters is refused yet.)
#include "common/simulator/block.hpp"
#include "common/simulator/hopper.hpp"
#include "ptx_hopper.h"

namespace simulator {

uint32_t cluster_rank() {
  return 0;
}
uint32_t cluster_size() {
  return 1;
}
void cluster_arrive() {}
void cluster_wait() {
  refuse(hopper_worker("cluster_wait()"), "barrier", __builtin_return_address(0),
         "  clusters are not on the CPU backend yet\n");
}
void* cluster_map(void* shared, uint32_t) {
  return shared;
}

}  // namespace simulator
