#include "common/simulator/run/cluster.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "common/simulator/device/names.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/run/block.hpp"
#include "simulator/cluster_functions.h"

namespace simulator {

// ---- The blocks in turns

Cluster::Cluster(dim3 size, std::vector<Worker*> blocks, int left)
    : size_(size),
      blocks_(std::move(blocks)),
      running_(blocks_.begin(), blocks_.end()),
      left_(left) {
  // Of arrays that tell no name nobody knows which block has come to them.
  for (const SharedArray& array : shared_arrays())
    if (!array.declares_itself) arrays_.push_back({array.offset - shared_begin(), array.bytes});
}

uint3 Cluster::index_of(int rank) const {
  const unsigned r = static_cast<unsigned>(rank);
  return {r % size_.x, r / size_.x % size_.y, r / (size_.x * size_.y)};
}

void Cluster::activate(Worker& block) {
  if (active_ == &block) return;
  const auto copy = [&](uintptr_t to, uintptr_t from) {
    for (const Array& array : arrays_)
      std::memcpy(reinterpret_cast<void*>(to + array.offset),
                  reinterpret_cast<const void*>(from + array.offset), array.bytes);
  };
  if (active_) copy(active_->image_begin_, active_->static_begin_);
  copy(block.static_begin_, block.image_begin_);
  active_ = &block;
  block.make_current();
}

/// So far nobody has written it, here or in an image: all have the same in it.
void Cluster::add_array(uintptr_t offset, size_t bytes) {
  for (const Array& known : arrays_)
    if (known.offset == offset) return;
  arrays_.push_back({offset, bytes});
}

// ---- The barrier

void Cluster::arrive(const void* instruction) {
  ++arrived_;
  instruction_ = instruction;
  complete_if_all_are_here();
}

void Cluster::leave(bool has_arrived) {
  ++left_;
  if (has_arrived) --arrived_;
  complete_if_all_are_here();
}

void Cluster::complete_if_all_are_here() {
  const int living = blocks_.size() * static_cast<size_t>(blocks_[0]->threads_.size()) - left_;
  if (arrived_ == 0 || arrived_ < living) return;
  arrived_ = 0;
  ++phase_;
  for (Worker* block : blocks_) block->cluster_passed();
  // No thread of another block runs here: the note is the last one's who came.
  if (left_ > 0 && blocks_[0]->checks)
    blocks_[0]->checks->barrier_without(left_, "the barrier of the cluster",
                                        source_place(static_cast<const char*>(instruction_) - 1));
}

void Worker::cluster_passed() {
  for (int t = 0; t < static_cast<int>(threads_.size()); ++t) {
    if (threads_[t].state != State::at_cluster_barrier) continue;
    threads_[t].state = State::ready;
    ready_.push_back(t);
  }
}

Cluster& Worker::cluster() {
  if (cluster_) return *cluster_;
  if (!architecture().has_clusters())
    throw Fault(cudaErrorLaunchFailure, "trap in " + where_is(current_) +
                                            "\n  a cluster of blocks needs compute capability 9.0\n"
                                            "  likely: the launcher does not refuse the device\n");
  own_cluster_ = std::make_unique<Cluster>(dim3(1, 1, 1), std::vector<Worker*>{this}, finished_);
  cluster_ = own_cluster_.get();
  cluster_blocks_ = &cluster_->running_blocks();
  if (checks) checks->join_cluster({checks}, checks->run());
  return *cluster_;
}

void Worker::cluster_arrive(bool aligned, const void* instruction) {
  Cluster& all = cluster();
  settle();
  Thread& self = threads_[current_];
  if (self.arrivals > self.waits)
    refuse_in_cluster(instruction,
                      "arrives at the barrier of the cluster a second time before it has waited");
  ++self.arrivals;
  if (checks) checks->cluster_arrived(current_);
  if (checks && aligned)
    checks->lanes_arrived(current_ / 32 * 32, living_lanes(current_ / 32 * 32), instruction);
  all.arrive(instruction);
}

void Worker::cluster_wait(const void* instruction) {
  Cluster& all = cluster();
  settle();
  const int me = current_;
  Thread& self = threads_[me];
  if (self.arrivals == self.waits)
    refuse_in_cluster(instruction, "waits at the barrier of the cluster and has not arrived at it");
  if (trace) tell_cluster_wait(instruction);
  if (all.phase() < self.arrivals) {
    self.state = State::at_cluster_barrier;
    self.instruction = with_callers(instruction);
    suspend();
  }
  ++threads_[me].waits;
  if (checks) checks->cluster_waited(me);
}

/// When the last lane of a warp comes to the wait, the warp's accesses are counted.
void Worker::tell_cluster_wait(const void* instruction) {
  const size_t warp = static_cast<size_t>(current_) / 32;
  lanes_at_cluster_barrier_.resize((threads_.size() + 31) / 32);
  if (++lanes_at_cluster_barrier_[warp] >=
      std::popcount(living_lanes(static_cast<int>(warp) * 32))) {
    trace->warp_waits(static_cast<int>(warp));
    lanes_at_cluster_barrier_[warp] = 0;
  }
  if (++at_cluster_barrier_ < static_cast<int>(threads_.size()) - finished_) return;
  at_cluster_barrier_ = 0;
  const SourcePlace place = source_place(static_cast<const char*>(instruction) - 1);
  trace->count_barrier(place);
}

void Worker::refuse_in_cluster(const void* instruction, const std::string& what) const {
  throw Fault(cudaErrorLaunchFailure,
              "barrier in " + where_is(current_) + "  " +
                  source_line_with_text(static_cast<const char*>(with_callers(instruction)) - 1) +
                  "\n  " + what +
                  "\n  likely: each arrival has one wait, and each wait one arrival before it\n");
}

// ---- Each other's shared memory

void Worker::refuse_address(const void* instruction, const std::string& what) const {
  throw Fault(cudaErrorIllegalAddress,
              "bounds in " + where_is(current_) + "  " +
                  source_line_with_text(static_cast<const char*>(with_callers(instruction)) - 1) +
                  "\n" + what);
}

RunningBlock& Worker::block_of_cluster(int64_t rank, const void* instruction) {
  const Cluster& all = cluster();
  if (rank < 0 || rank >= all.size())
    refuse_address(instruction,
                   "  there is no block " + std::to_string(rank) + " in a cluster of " +
                       std::to_string(all.size()) +
                       "\n  likely: the rank is that of a block in its cluster, from 0 on, and not "
                       "blockIdx\n");
  return *all.blocks()[static_cast<size_t>(rank)];
}

void* Worker::map_shared(const void* address, int64_t rank, const void* instruction) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  const RunningBlock& other = block_of_cluster(rank, instruction);
  if (!is_shared(at))
    refuse_address(instruction,
                   "  the address to map is not in this block's shared memory\n  likely: a pointer "
                   "to a __shared__ variable of this block is meant\n");
  if (&other == this) return const_cast<void*>(address);
  return reinterpret_cast<void*>(other.address_from_others(other.same_address(at, *this)));
}

unsigned Worker::shared_rank(const void* address) const {
  const RunningBlock* owner = owner_in_cluster(reinterpret_cast<uintptr_t>(address));
  return static_cast<unsigned>(owner ? owner->rank_in_cluster() : rank_);
}

// ---- A cluster runs

void Worker::prepare_for_cluster(Cluster& cluster, int rank) {
  cluster_ = &cluster;
  cluster_blocks_ = &cluster.running_blocks();
  rank_ = rank;
  if (image_ == nullptr) {
    image_ = map_pages(kPage + static_bytes_, "the blocks of a cluster");
    image_begin_ = reinterpret_cast<uintptr_t>(image_) + static_begin_ % kPage;  // aligned alike
  }
  poison_static_shared(reinterpret_cast<unsigned char*>(image_begin_));
}

void Worker::run_cluster(const Grid& grid, uint3 first) {
  const dim3& size = grid.launch.cluster;
  const size_t count = static_cast<size_t>(size.x) * size.y * size.z;
  while (others_.size() + 1 < count) others_.push_back(std::make_unique<Worker>(this));
  std::vector<Worker*> blocks = {this};
  for (size_t rank = 1; rank < count; ++rank) blocks.push_back(others_[rank - 1].get());
  Cluster cluster(size, blocks, 0);
  std::vector<Checks*> all_checks;
  uint32_t run = 0;
  for (size_t rank = 0; rank < count; ++rank) {
    Worker& block = *blocks[rank];
    const uint3 index = cluster.index_of(static_cast<int>(rank));
    block.begin_block(grid, {first.x + index.x, first.y + index.y, first.z + index.z});
    block.prepare_for_cluster(cluster, static_cast<int>(rank));
    if (!block.checks) continue;
    all_checks.push_back(block.checks);
    run = std::max(run, block.checks->run());
  }
  for (Checks* of_block : all_checks) of_block->join_cluster(all_checks, run);
  poison_static_shared();
  // With a seed another block begins.
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (grid.order != 0) Shuffle(grid.order + block_number()).shuffle(order);

  const auto end = [&] {
    progress.rest();
    the_block = nullptr;
    for (Worker* block : blocks) {
      block->cluster_ = nullptr;
      block->cluster_blocks_ = nullptr;
    }
  };
  try {
    for (bool all_have_left = false; !all_have_left;) {
      const uint64_t turns = progress.turns;
      all_have_left = true;
      Worker* waiting = nullptr;
      for (const int rank : order) {
        Worker& block = *blocks[static_cast<size_t>(rank)];
        if (block.has_left()) continue;
        cluster.activate(block);
        if (block.run()) continue;
        all_have_left = false;
        waiting = &block;
      }
      if (all_have_left || progress.turns != turns) continue;
      for (Worker* block : blocks)
        if (!block->has_left()) waiting = block;
      cluster.activate(*waiting);
      waiting->report_stuck();
    }
  } catch (...) {
    for (Worker* block : blocks) block->abandon_fibers();
    end();
    throw;
  }
  end();
}

std::vector<Profiled> Worker::take_profiles() {
  std::vector<Profiled> profiles = {own_trace_.take()};
  for (const auto& other : others_) profiles.push_back(other->own_trace_.take());
  return profiles;
}

// ---- The size that a kernel says

namespace {
std::mutex sizes_mutex;
std::map<const void*, dim3> sizes;  // of kernels with __cluster_dims__, by Grid::kernel()
}  // namespace

std::optional<dim3> required_cluster(const Grid& grid) {
  const std::lock_guard lock(sizes_mutex);
  const auto found = sizes.find(grid.kernel());
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

bool was_in_other_clusters(const Grid& grid) {
  const std::optional<dim3> size = required_cluster(grid);
  return size && !is_same(*size, grid.launch.cluster);
}

void Worker::require_cluster(dim3 size) const {
  if (is_same(size, grid_->launch.cluster)) return;
  {
    const std::lock_guard lock(sizes_mutex);
    sizes[grid_->kernel()] = size;
  }
  throw Fault(cudaErrorInvalidClusterSize, "");
}

// ---- What kernels call

namespace {
Worker& worker_in_kernel() {
  if (Worker* const worker = kernel_worker()) return *worker;
  std::fputs("A function of a cluster was called outside a kernel.\n", stderr);
  std::abort();
}
}  // namespace

void cluster_dims(dim3 size) {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  worker.require_cluster(size);
}
dim3 cluster_dimensions() {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  return worker.cluster().dimensions();
}
uint3 cluster_index() {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  return worker.cluster().index_of(worker.rank_in_cluster());
}
uint32_t cluster_size() {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  return static_cast<uint32_t>(worker.cluster().size());
}
uint32_t cluster_rank() {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  worker.cluster();
  return static_cast<uint32_t>(worker.rank_in_cluster());
}
void cluster_arrive(bool aligned) {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  worker.cluster_arrive(aligned, __builtin_return_address(0));
}
void cluster_wait() {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  worker.cluster_wait(__builtin_return_address(0));
}
void* cluster_map(const void* shared, uint32_t block) {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  return worker.map_shared(shared, static_cast<int32_t>(block), __builtin_return_address(0));
}
uint32_t cluster_rank_of(const void* shared) {
  Worker& worker = worker_in_kernel();
  const SimulatorScope scope;
  return worker.shared_rank(shared);
}

}  // namespace simulator
