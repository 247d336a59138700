// Launches: CUDA's limits, and the grid's blocks spread over the cores.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/backend/backend.hpp"
#include "common/simulator/count/sample.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/device/stream_order.hpp"
#include "common/simulator/run/block.hpp"
#include "common/simulator/world/crashes.hpp"
#include "common/simulator/world/symbols.hpp"
#include "common/simulator/world/threads.hpp"

namespace simulator {
namespace {

int64_t count(const dim3& size) {
  return int64_t{size.x} * size.y * size.z;
}

std::atomic<uint32_t> launches = 0;

using Time = std::chrono::steady_clock;
const Time::time_point begun = Time::now();
double seconds_of_silence = 0;  // 0: for ever
std::mutex silence_mutex;

/// Once, so that a learner who waits knows what for.
void tell_if_slow(const Launch& launch, int64_t blocks_begun) {
  const std::lock_guard lock(silence_mutex);
  if (seconds_of_silence == 0 ||
      std::chrono::duration<double>(Time::now() - begun).count() < seconds_of_silence)
    return;
  std::fprintf(
      stderr,
      "note: after %.0f s launch %u, of %s, has begun %lld of its %lld blocks. A simulator is "
      "slow: make the sizes smaller, and benchmarks shorter\n",
      seconds_of_silence, static_cast<unsigned>(launches), launch.kernel,
      static_cast<long long>(blocks_begun), static_cast<long long>(count(launch.grid)));
  seconds_of_silence = 0;
}

/// What a grid ends with, and the report.
using Outcome = std::pair<cudaError_t, std::string>;

/// The workers, one a core, which take a grid's blocks in order.
class Pool {
 public:
  /// Runs all blocks; gives the first fault, if any, as (error, report).
  Outcome run(const Grid& grid) {
    begin(grid);
    const uint64_t before = accesses();
    std::optional<double> limit;  // asked for only where a launch takes its time
    threads_.run(kLookEvery, [&] {
      const SimulatorScope scope;  // a page has but the thread that runs the kernel
      const std::lock_guard lock(mutex_);
      tell_if_slow(grid.launch, std::min<int64_t>(next_block_, blocks_) * cluster_blocks_);
      if (!checks_are_on()) return;
      double seconds = 0;
      for (size_t i = 0; i < threads_.size(); ++i) {
        const double time = threads_.processor_time(i);
        watches_[i].look(*workers_[i], time);
        seconds = std::max(seconds, watches_[i].seconds(time));
      }
      if (!limit) limit = access_limit(kernel_name(grid.launch.address, grid.launch.kernel));
      const uint64_t made = accesses() - before;
      if (*limit > 0 && static_cast<double>(made) > *limit)
        end_launch("it has made " + std::to_string(made) +
                   " accesses to global memory, more than " +
                   std::to_string(static_cast<int64_t>(*limit)) +
                   ", ten times what its step should ask for");
      else if (launch_limit() > 0 && seconds > launch_limit())
        end_launch("it has run for " + std::to_string(static_cast<int>(seconds)) + " s");
    });
    return {error_, report_};
  }

  tutorial::LaunchProgress progress() {
    const std::lock_guard lock(mutex_);
    if (busy_ == 0) return {.launches = launches};
    const int64_t begun = std::min<int64_t>(next_block_, blocks_);
    // A worker that is busy is in the midst of a block.
    return {launches, std::max<int64_t>(begun - busy_, 0) * cluster_blocks_,
            blocks_ * cluster_blocks_};
  }

 private:
  void begin(const Grid& grid) {
    const std::lock_guard lock(mutex_);
    grid_ = &grid;
    cluster_blocks_ = count(grid.launch.cluster);
    blocks_ = count(grid.launch.grid) / cluster_blocks_;
    chosen_.clear();
    if (sampling()) {
      chosen_ = begin_sampled_launch(grid.launch);
      blocks_ = static_cast<int64_t>(chosen_.size());
    }
    order_ = BlockOrder(grid.order, blocks_);
    next_block_ = 0;
    error_ = cudaSuccess;
    report_.clear();
    busy_ = static_cast<int>(threads_.size());
    for (size_t i = 0; i < threads_.size(); ++i) {
      watches_[i].begin(threads_.processor_time(i));
      workers_[i]->go_on();
    }
  }

  uint64_t accesses() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < threads_.size(); ++i) sum += workers_[i]->global;
    return sum;
  }

  /// The first thread that heeds it ends the launch, with the report of where it is.
  void end_launch(const std::string& why) {
    launch_was_ended();
    const int64_t done = std::min<int64_t>(next_block_, blocks_) * cluster_blocks_;
    for (size_t i = 0; i < threads_.size(); ++i)
      workers_[i]->stop("  the launch is ended here: " + why + "\n  " + std::to_string(done) +
                        " of its " + std::to_string(blocks_ * cluster_blocks_) +
                        " blocks have begun\n"
                        "  likely: a loop makes far more turns than it should: look at its bound "
                        "and its step\n");
  }

  ThreadPool::Work work_of(size_t number) {
    const auto worker = std::make_shared<Worker>();
    const std::lock_guard lock(mutex_);
    workers_[number] = &worker->progress;
    return [this, number, worker] { work(number, *worker); };
  }

  void work(size_t number, Worker& worker) {
    if (number < workers_of(*grid_)) run_blocks(worker);
    if (worker.trace) {
      for (const Profiled& profiled : worker.take_profiles())  // also where only a recorder wants
        if (profiling() && chosen_.empty() && profiled.blocks > 0 && !was_in_other_clusters(*grid_))
          add_profile(grid_->launch.kernel, grid_->launch.address, grid_->operation->number,
                      profiled);
    }
    if (cluster_blocks_ > 1 && threads_.size() > 4) worker.forget_clusters();
    const std::lock_guard lock(mutex_);
    --busy_;
  }

  /// A recorder gets the blocks one after another, from one worker. All blocks of a cluster have
  /// stacks on one worker, with a guard page each, too.
  size_t workers_of(const Grid& grid) const {
    constexpr int64_t kStacks = 8192;
    if (grid.recorder) return 1;
    if (cluster_blocks_ == 1) return threads_.size();
    return static_cast<size_t>(
        std::max<int64_t>(kStacks / (cluster_blocks_ * count(grid.launch.block)), 1));
  }

  void run_blocks(Worker& worker) {
    const dim3& cluster = grid_->launch.cluster;
    const dim3 size = {grid_->launch.grid.x / cluster.x, grid_->launch.grid.y / cluster.y,
                       grid_->launch.grid.z / cluster.z};  // in clusters
    for (int64_t i; (i = next_block_.fetch_add(1)) < blocks_;) {
      const int64_t turn = order_(i);
      const int64_t b = chosen_.empty() ? turn : chosen_[static_cast<size_t>(turn)].number;
      const uint3 first = {cluster.x * static_cast<unsigned>(b % size.x),
                           cluster.y * static_cast<unsigned>(b / size.x % size.y),
                           cluster.z * static_cast<unsigned>(b / (int64_t{size.x} * size.y))};
      try {
        if (cluster_blocks_ > 1)
          worker.run_cluster(*grid_, first);
        else
          worker.run_block(*grid_, first);
        if (!chosen_.empty())
          add_to_sample(chosen_[static_cast<size_t>(turn)], worker.take_profiles());
      } catch (const Fault& fault) {
        worker.progress.go_on();
        const std::lock_guard lock(mutex_);
        // Of several faults the first block's, on however many cores: the blocks before it all ran.
        if (error_ == cudaSuccess || i < fault_block_) {
          fault_block_ = i;
          error_ = fault.error;
          report_ = fault.what();
        }
        next_block_ = blocks_;  // CUDA, too, gives the grid up
      }
    }
  }

  // Each worker maps 1024 stacks with a guard page each, and a process may map 65530 areas.
  static constexpr size_t kMostWorkers = 16;

  std::mutex mutex_;
  Progress* workers_[kMostWorkers] = {};
  SpinWatch watches_[kMostWorkers];
  const Grid* grid_ = nullptr;
  int64_t blocks_ = 0;          // or clusters, of
  int64_t cluster_blocks_ = 1;  // blocks
  BlockOrder order_{0, 0};
  std::vector<Chosen> chosen_;  // where only a sample runs
  std::atomic<int64_t> next_block_ = 0;
  int busy_ = 0;  // workers
  cudaError_t error_ = cudaSuccess;
  int64_t fault_block_ = 0;
  std::string report_;
  ThreadPool threads_{kMostWorkers, [this](size_t number) { return work_of(number); }};  // last
};

Pool& pool() {
  static Pool the_pool;
  return the_pool;
}
std::mutex launch_mutex;  // one grid at a time, from whichever host thread

/// While a grid runs, a crash of a CUDA thread ends the grid, not the program.
void on_crash(const Crash& crash) {
  if (Worker* worker = the_worker()) worker->crash(crash);
}

/// CUDA C++ Programming Guide, "Thread Block Clusters"; of two sizes PTX ISA, ".reqnctapercluster".
cudaError_t check_cluster(const Launch& launch, const std::optional<dim3>& required) {
  const dim3 &grid = launch.grid, &size = launch.cluster;
  const auto text = [](const dim3& of) {
    return "(" + std::to_string(of.x) + "," + std::to_string(of.y) + "," + std::to_string(of.z) +
           ")";
  };
  const auto refuse = [&](cudaError_t error, const std::string& why) {
    publish("launch of " + std::string(launch.kernel) + " in clusters of " + text(size) +
                " blocks: " + why + "\n",
            error);
    return error;
  };
  if (required && !is_same(*required, size))
    return refuse(cudaErrorInvalidClusterSize, "the kernel's __cluster_dims__ says " +
                                                   text(*required) +
                                                   ", and a launch may name no other size");
  const uint64_t blocks = uint64_t{size.x} * size.y * size.z,
                 most = most_blocks_of_cluster(launch.address);
  if (blocks > 1 && !architecture().has_clusters())
    return refuse(cudaErrorNotSupported, "they need compute capability 9.0");
  if (blocks == 0) return refuse(cudaErrorInvalidClusterSize, "there is no such cluster");
  if (blocks > 16) return refuse(cudaErrorInvalidClusterSize, "no GPU has more than 16");
  if (blocks > most)
    return refuse(cudaErrorInvalidClusterSize,
                  "more than 8 are not on every GPU, and need cudaFuncSetAttribute with "
                  "cudaFuncAttributeNonPortableClusterSizeAllowed");
  if (grid.x % size.x != 0 || grid.y % size.y != 0 || grid.z % size.z != 0)
    return refuse(cudaErrorInvalidClusterSize,
                  "the grid, " + text(grid) + " blocks, is no multiple of that");
  return cudaSuccess;
}

/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
cudaError_t check_limits(const Launch& launch, const std::optional<dim3>& required) {
  const dim3& grid = launch.grid;
  const dim3& block = launch.block;
  const int64_t threads = count(block);
  if (threads == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0)
    return cudaErrorInvalidConfiguration;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
    return cudaErrorInvalidConfiguration;
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  if (const cudaError_t refused = check_cluster(launch, required); refused != cudaSuccess)
    return refused;
  const size_t fixed = static_shared_bytes(launch.address);
  if (fixed > kSharedPerBlock) {  // nvcc would not have compiled it
    publish("shared memory in " + std::string(launch.kernel) + ": its __shared__ arrays take " +
                std::to_string(fixed) + " bytes; CUDA allows " + std::to_string(kSharedPerBlock) +
                " of static shared memory, and more only as extern __shared__\n",
            cudaErrorInvalidValue);
    return cudaErrorInvalidValue;
  }
  if (launch.dynamic_shared > dynamic_shared_limit(launch.address, fixed) ||
      launch.dynamic_shared + fixed > architecture().shared_per_block)
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

/// In the clusters that its kernel says, if it is known and the launch names none.
bool may_run(Grid& grid) {
  const std::optional<dim3> required = required_cluster(grid);
  if (required && !grid.launch.names_cluster) grid.launch.cluster = *required;
  const cudaError_t refused = check_limits(grid.launch, required);
  if (refused != cudaSuccess) set_last_error(refused, true);
  return refused == cudaSuccess;
}

Outcome run(Grid& grid) {
  const std::lock_guard lock(launch_mutex);
  const CrashGuard guard(on_crash);
  grid.recorder = begin_recording(grid.launch);
  Outcome outcome = pool().run(grid);
  if (sampling()) was_in_other_clusters(grid) ? forget_sampled_launch() : end_sampled_launch();
  if (was_in_other_clusters(grid))
    forget_recording(grid.launch);
  else if (grid.recorder)
    end_recording();
  const auto [error, reports] = take_findings();
  if (error != cudaSuccess && outcome.first == cudaSuccess) outcome.first = error;
  outcome.second += reports;
  return outcome;
}

}  // namespace

void tell_when_slow(double seconds) {
  seconds_of_silence = seconds;
}
unsigned launches_made() {
  return launches;
}

void launch(const Launch& launch, void (*call)(const void*), const void* context,
            size_t context_bytes) {
  if (current_block() != nullptr)
    throw Fault(cudaErrorNotSupported, "launch of " + std::string(launch.kernel) +
                                           " in a kernel  " + file_line(launch.where) +
                                           "\n  the CPU backend has no dynamic parallelism: launch "
                                           "from the host\n");
  Grid grid{launch, call, context, context_bytes, nullptr, thread_order()};
  if (launch.where.line() != 0) note_launch(launch.where);
  if (!may_run(grid)) return;
  if (is_planning()) return plan_launch(grid.launch);
  const Operation operation =
      begin_operation(launch.kernel, launch.stream, launch.grid, launch.block);
  grid.operation = &operation;
  ++launches;
  tell_if_slow(launch, 0);
  Outcome outcome = run(grid);
  if (was_in_other_clusters(grid)) {
    if (!may_run(grid)) {
      --launches;
      return;
    }
    outcome = run(grid);
  }
  if (!outcome.second.empty()) publish(outcome.second, outcome.first);
  if (outcome.first != cudaSuccess) set_kernel_fault(outcome.first);
}

}  // namespace simulator

tutorial::LaunchProgress tutorial::launch_progress() {
  return simulator::pool().progress();
}
