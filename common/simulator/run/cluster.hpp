// The blocks of a cluster. They run in turns on one core, each with a worker of its own: one block
// goes on until all its threads wait, then the next one. So all are there at the same time, as on a
// GPU.
//
// Where their shared memory lies:
//
//   dynamic   each worker has a place of its own; a block reaches another's by its address
//   static    __shared__ arrays are variables of the core's OS thread, where the block that runs
//             has its own. Those of the blocks that do not run lie in images, one a block; at every
//             change of blocks the arrays are copied out of one image and into the other. Only one
//             block runs at a time, so what it reaches of another's is always in that one's image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "vector_types.h"

namespace simulator {

class RunningBlock;
class Worker;
struct Grid;

class Cluster {
 public:
  /// `size`: blocks in x, y and z; `blocks`: a worker each, by rank; `left`: threads that have
  /// left.
  Cluster(dim3 size, std::vector<Worker*> blocks, int left);

  /// Lets this block's threads run next.
  void activate(Worker& block);
  /// The block has come to a __shared__ array, `offset` behind the first one.
  void add_array(uintptr_t offset, size_t bytes);

  const std::vector<Worker*>& blocks() const { return blocks_; }
  const std::vector<RunningBlock*>& running_blocks() const { return running_; }
  int size() const { return static_cast<int>(blocks_.size()); }
  dim3 dimensions() const { return size_; }
  uint3 index_of(int rank) const;
  /// How often all threads have met at the cluster's barrier.
  int phase() const { return phase_; }

  /// A thread arrives at the barrier, or leaves the kernel; `has_arrived`: before that.
  void arrive(const void* instruction);
  void leave(bool has_arrived);

 private:
  struct Array {
    uintptr_t offset;
    size_t bytes;
  };
  void complete_if_all_are_here();

  const dim3 size_;
  const std::vector<Worker*> blocks_;
  const std::vector<RunningBlock*> running_;  // the same
  Worker* active_ = nullptr;
  std::vector<Array> arrays_;  // of static shared memory, that any of the blocks uses
  int phase_ = 0, arrived_ = 0, left_ = 0;
  const void* instruction_ = nullptr;  // of the last one to arrive
};

inline bool is_same(const dim3& a, const dim3& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

/// The size that the __cluster_dims__ of the grid's kernel says. It is known once a thread has come
/// to it: the first launch, where it had another size, has then done nothing and is made again.
std::optional<dim3> required_cluster(const Grid& grid);
/// The launch has ended, and was such a first one.
bool was_in_other_clusters(const Grid& grid);

}  // namespace simulator
