// What a kernel can ask of the cluster that its block is in; of none, it is in one of its own. For
// cooperative_groups.h and <ptx_hopper.h>.
#pragma once

#include <cstdint>

#include "vector_types.h"

namespace simulator {

dim3 cluster_dimensions();  // in blocks
uint3 cluster_index();      // of the block in its cluster
uint32_t cluster_rank();
uint32_t cluster_size();

/// The cluster's barrier, in two halves. `aligned`: all lanes of a warp arrive together.
void cluster_arrive(bool aligned = false);
void cluster_wait();

/// Where the same variable of shared memory lies in another block; and whose an address is.
void* cluster_map(const void* shared, uint32_t block);
uint32_t cluster_rank_of(const void* shared);

}  // namespace simulator
