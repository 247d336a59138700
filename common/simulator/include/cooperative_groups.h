// Of CUDA's cooperative groups only a cluster of blocks, and of that only the names: a kernel that
// uses one compiles here, and this_cluster() ends its launch. The simulator has no clusters; a step
// that cannot do without says so in its entry in the chapter's list.
#pragma once

#include "device_functions.h"

namespace cooperative_groups {

class cluster_group {
 public:
  struct arrival_token {};
  unsigned int num_blocks() const { __trap(); }
  unsigned int block_rank() const { __trap(); }
  void sync() const { __trap(); }
  arrival_token barrier_arrive() const { __trap(); }
  void barrier_wait(arrival_token&& = {}) const { __trap(); }
  template <class T>
  T* map_shared_rank(T*, int) const {
    __trap();
  }
};

inline cluster_group this_cluster() {
  __trap();
}

}  // namespace cooperative_groups
