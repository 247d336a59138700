#include "common/simulator/cluster.hpp"

#include <algorithm>

#include "common/simulator/block.hpp"
#include "common/simulator/hopper.hpp"
#include "common/simulator/waiting.hpp"
#include "ptx_hopper.h"

namespace simulator {
namespace {

struct AtCluster : Waiting {
  explicit AtCluster(const Cluster& cluster) : cluster(cluster) {}
  std::string what() const override { return "cluster_wait(): " + cluster.state(); }
  std::string likely() const override {
    return "  likely: not all threads of the cluster come to cluster_arrive(): it stands in a "
           "branch or a loop that differs between them\n";
  }
  const Cluster& cluster;
};

}  // namespace

// ---- Turns

void Cluster::begin(int rank, Worker& worker, int threads) {
  {
    const std::lock_guard lock(mutex_);
    if (unfinished_ == 0) {  // the first one
      turn_ = idle_ = arrived_ = living_ = 0;
      has_failed = false;
      is_finished_.assign(is_finished_.size(), false);
      waiting_.clear();
      known_.clear();
      arriving_.times.clear();
    }
    members[static_cast<size_t>(rank)] = &worker;
    ++unfinished_;
    living_ += threads;
  }
  meet();
  wait_for_turn(rank);
}

void Cluster::wait_for_turn(int rank) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == rank; });
}

void Cluster::next(int rank) {
  const std::lock_guard lock(mutex_);
  turn_ = rank;
  for (int i = 0; i < size; ++i) {
    turn_ = (turn_ + 1) % size;
    if (!is_finished_[static_cast<size_t>(turn_)]) break;
  }
  changed_.notify_all();
}

bool Cluster::pass(int rank) {
  if (++idle_ > unfinished_) return false;
  next(rank);
  wait_for_turn(rank);
  return true;
}

void Cluster::finished(int rank) {
  {
    const std::lock_guard lock(mutex_);
    is_finished_[static_cast<size_t>(rank)] = true;
    --unfinished_;
  }
  idle_ = 0;
  next(rank);
}

void Cluster::failed(int rank) {
  has_failed = true;
  finished(rank);
}

Worker* Cluster::owner(uintptr_t address) const {
  for (Worker* member : members)
    if (member->is_shared(address)) return member;
  return nullptr;
}

// ---- The barrier

std::string Cluster::state() const {
  return std::to_string(arrived_) + " threads of " + std::to_string(living_) +
         " of the cluster have arrived";
}

void Cluster::arrive(Worker& worker, const void* instruction) {
  if (!worker.cluster_arrives(true))
    refuse(worker, "barrier", instruction,
           "  cluster_arrive() a second time: cluster_wait() comes between\n");
  if (worker.checks) worker.checks->release(worker.current(), arriving_);
  ++arrived_;
  complete_if_all_have_come();
}

void Cluster::complete_if_all_have_come() {
  if (arrived_ == 0 || arrived_ < living_) return;
  Knowledge all = known_.empty() ? Knowledge{} : known_.back();
  all.join(arriving_);
  known_.push_back(std::move(all));
  arriving_.times.clear();
  arrived_ = 0;
  for (const auto& [worker, thread] : std::exchange(waiting_, {})) worker->wake(thread);
}

void Cluster::wait(Worker& worker, const void* instruction) {
  if (!worker.cluster_arrives(false))
    refuse(worker, "barrier", instruction, "  cluster_wait() without cluster_arrive() before it\n");
  const int times = worker.cluster_times() + 1;
  while (static_cast<int>(known_.size()) < times) {
    AtCluster waiting(*this);
    waiting.instruction = instruction;
    waiting_.emplace_back(&worker, worker.current());
    worker.wait_for(waiting);
  }
  worker.cluster_passed(times);
}

void Cluster::thread_left(Worker&, int) {
  --living_;
  complete_if_all_have_come();
}

// ---- What kernels call

uint32_t cluster_rank() {
  Worker& worker = hopper_worker("cluster_rank()");
  return static_cast<uint32_t>(worker.rank_in_cluster());
}
uint32_t cluster_size() {
  Worker& worker = hopper_worker("cluster_size()");
  return worker.cluster() ? static_cast<uint32_t>(worker.cluster()->size) : 1;
}
void cluster_arrive() {
  Worker& worker = hopper_worker("cluster_arrive()");
  const SimulatorScope scope;
  const void* const instruction = __builtin_return_address(0);
  worker.settle();
  worker.own_cluster().arrive(worker, instruction);
}
void cluster_wait() {
  Worker& worker = hopper_worker("cluster_wait()");
  const SimulatorScope scope;
  const void* const instruction = __builtin_return_address(0);
  worker.own_cluster().wait(worker, instruction);
}
void* cluster_map(void* shared, uint32_t block) {
  Worker& worker = hopper_worker("in_block()");
  const SimulatorScope scope;
  const void* const instruction = __builtin_return_address(0);
  const uintptr_t address = reinterpret_cast<uintptr_t>(shared);
  if (!worker.is_shared(address))
    refuse(worker, "bounds", instruction, "  in_block() takes the address of shared memory\n",
           cudaErrorIllegalAddress);
  Cluster& cluster = worker.own_cluster();
  if (block >= static_cast<uint32_t>(cluster.size))
    refuse(worker, "bounds", instruction,
           "  block " + std::to_string(block) + " of a cluster of " + std::to_string(cluster.size) +
               " blocks\n",
           cudaErrorIllegalAddress);
  return reinterpret_cast<void*>(
      cluster.members[block]->address_in_shared(worker.offset_in_shared(address)));
}

}  // namespace simulator
