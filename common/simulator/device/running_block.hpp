// The block that runs on a core: who and where its threads are, what lies at an address, and what
// watches it. The fibers and barriers that make it run are in run/block.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/device/device.hpp"
#include "common/simulator/world/call_stack.hpp"
#include "common/simulator/world/pages.hpp"
#include "common/simulator/world/symbols.hpp"
#include "simulator/launch_site.h"
#include "simulator/shared_shape.h"

namespace simulator {

class AsyncCopies;
class Checks;
class Progress;
class Recorder;
class Trace;
struct Hopper;
struct MatrixOperation;
struct Operation;
struct Waiting;

/// A kernel did what it must not. `what()` is the report; `error` is what CUDA calls it.
struct Fault : std::runtime_error {
  Fault(cudaError_t error, const std::string& report) : std::runtime_error(report), error(error) {}
  cudaError_t error;
};

/// True while each basic block of a kernel must be looked at: for a profile, or because the watch
/// has something to say to this core.
extern constinit thread_local std::atomic<bool> heed;

/// What every block of one launch shares.
struct Grid {
  Launch launch;
  void (*call)(const void*);
  const void* context;
  size_t context_bytes;
  const Operation* operation;
  uint64_t order;                // 0, or the seed of a shuffled order of threads
  Recorder* recorder = nullptr;  // of this launch, if it is recorded

  /// What the kernel's __cluster_dims__ is kept for. Where its template arguments are deduced, and
  /// its address so is not known, each launch in the program has a `call` of its own.
  const void* kernel() const {
    return launch.address ? launch.address : reinterpret_cast<const void*>(call);
  }
};

class RunningBlock {
 public:
  RunningBlock(const RunningBlock&) = delete;

  // ---- What works for it
  Checks* checks = nullptr;  // null when they are off
  Trace* trace = nullptr;    // null when no profile is wanted
  Hopper* hopper = nullptr;  // what compute capability 9.0 has
  AsyncCopies* async_copies = nullptr;
  bool watch_locals = false;  // products use registers of the block's threads
  Progress& progress;         // of the core
  const uintptr_t program = program_start();
  const uintptr_t device = device_begin();  // at hand for the test of every access

  // ---- Who runs
  const char* kernel() const { return grid_->launch.kernel; }
  int threads() const { return thread_count_; }
  bool has_left() const { return finished_ == thread_count_; }
  int current() const { return current_; }
  int lane() const { return current_ % 32; }
  /// While it runs: what the checks and the profile are told next is that lane's doing, up to
  /// settle() at the latest.
  void speak_for_lane(int lane) { current_ = current_ / 32 * 32 + lane; }
  /// What the running thread did last can be looked at: it has gone on, or is about to stop.
  virtual void settle() = 0;

  // ---- What a thread waits for
  /// Lets other threads run until one of them wakes the running thread.
  virtual void wait_for(const Waiting& what) = 0;
  virtual void wake(int thread) = 0;
  /// All 32 lanes come; the last one to come runs the operation over what each brought. Nothing in
  /// memory is ordered by it. `instruction`: where the lane's call returns to.
  virtual void matrix(const MatrixOperation& operation, void* part, const void* instruction) = 0;
  /// Ends the running thread's launch if the watch says so. `instruction`: where the call returns
  /// to.
  virtual void heed_watch(const void* instruction) = 0;
  /// Ends the block where no exception can be thrown, as in a signal handler: the running thread's
  /// stack is given up. SIGBUS stands for a misaligned access.
  [[noreturn]] virtual void crash(int signal, const void* address, const void* instruction) = 0;

  // ---- Where: words for reports
  /// The place in the program of the call that returns to `after`.
  uint32_t call_before(const void* after) const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(after) - 1 - program);
  }
  /// The same call, with the calls that led to it: for what is remembered or reported.
  const void* with_callers(const void* after) const {
    return calls_ ? calls_->with_callers(after) : after;
  }
  /// Of the block that runs: its number in the grid, and "block (0,1)".
  uint32_t block_number() const;
  std::string block_text() const;
  /// "block (0,1) thread (3,4)", for a thread of a block by its number in the grid.
  std::string place(uint32_t thread, uint32_t block) const;
  std::string place_of_running_thread() const;
  /// "copy_kernel, block (0,1) thread (3,4)", of a thread of this block.
  std::string where_is(int thread) const;
  /// "shared memory As[3][17]".
  std::string shared_name(uintptr_t address) const;
  /// For a report: how far the address is from the nearest array of static shared memory.
  std::string near_shared_array(uintptr_t address) const;

  // ---- What lies at an address
  void* dynamic_shared() { return reinterpret_cast<void*>(dynamic_begin_); }
  size_t dynamic_shared_bytes() const { return dynamic_bytes_; }
  uintptr_t static_shared() const { return static_begin_; }

  bool is_own_stack(uintptr_t address) const { return address - local_begin_ < kStack; }
  /// What may always be used: the running thread's local variables, and static ones.
  bool is_private(uintptr_t address) const {
    return is_own_stack(address) || address - thread_begin_ < thread_bytes_ ||
           is_in_program(address);
  }
  /// Far past the end of the __shared__ arrays lies what the simulator needs to go on.
  bool is_of_simulator(uintptr_t address) const {
    return address - thread_begin_ < thread_bytes_ && is_simulators_own(address - thread_begin_);
  }
  bool is_stack(uintptr_t address) const {  // of any of the block's threads
    return address - stacks_begin_ < kMaxThreads * kStack;
  }
  bool is_before_dynamic_shared(uintptr_t address) const {
    return dynamic_begin_ - 1 - address < kPage;
  }
  bool is_argument(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(grid_->context) < grid_->context_bytes;
  }
  /// Is this address in the shared memory of the block that is running?
  bool is_shared(uintptr_t address) const {
    return address - dynamic_begin_ < kSharedPerBlockOptin ||
           address - static_begin_ < static_bytes_;
  }
  /// Where the shared memory ends that this address is in, as far as kernels may use it.
  uintptr_t shared_end(uintptr_t address) const {
    return address - dynamic_begin_ < kSharedPerBlockOptin ? dynamic_begin_ + dynamic_bytes_
                                                           : static_begin_ + static_bytes_;
  }
  bool is_shared_range(uintptr_t address, size_t bytes) const {
    return is_shared(address) && address + bytes <= shared_end(address);
  }
  /// A number that stands for an address in shared memory, and tells how it is aligned: from 1024
  /// on the dynamic part, as on a GPU, and static arrays behind what a GPU has.
  uintptr_t offset_in_shared(uintptr_t address) const {
    return address - dynamic_begin_ < kSharedPerBlockOptin
               ? 1024 + address - dynamic_begin_
               : kStaticOffset + address - static_begin_ / 1024 * 1024;
  }
  uintptr_t address_in_shared(uintptr_t offset) const {
    return offset < kStaticOffset ? dynamic_begin_ + offset - 1024
                                  : static_begin_ / 1024 * 1024 + offset - kStaticOffset;
  }

  // ---- In its cluster, or alone in one of its own
  bool is_alone() const { return cluster_blocks_ == nullptr || cluster_blocks_->size() == 1; }
  int rank_in_cluster() const { return rank_; }
  /// Ends the launch if there is no such block.
  virtual RunningBlock& block_of_cluster(int64_t rank, const void* instruction) = 0;
  /// The other block of the cluster in whose shared memory this address is, or null.
  RunningBlock* owner_in_cluster(uintptr_t address) const;
  /// Where the same variable lies in this block.
  uintptr_t own_address(uintptr_t address, const RunningBlock& owner) const {
    return address - owner.dynamic_begin_ < kSharedPerBlockOptin
               ? address - owner.dynamic_begin_ + dynamic_begin_
               : address - owner.image_begin_ + static_begin_;
  }
  /// In this block, the address of what lies at `address` in `other`, as the blocks see themselves.
  uintptr_t same_address(uintptr_t address, const RunningBlock& other) const {
    return address - other.dynamic_begin_ < kSharedPerBlockOptin
               ? address - other.dynamic_begin_ + dynamic_begin_
               : address;
  }
  /// Where other blocks reach what lies here at this address.
  uintptr_t address_from_others(uintptr_t address) const {
    return address - static_begin_ < static_bytes_ ? address - static_begin_ + image_begin_
                                                   : address;
  }

 protected:
  explicit RunningBlock(Progress& progress) : progress(progress) {}
  ~RunningBlock() = default;

  static constexpr int kMaxThreads = 1024;
  static constexpr size_t kStack = 128 * 1024;  // of one CUDA thread; its lowest page is a guard
  static constexpr uintptr_t kStaticOffset = 256 * 1024;

  struct DeclaredArray {
    const char* name;
    uintptr_t begin;
    size_t bytes;
    const SharedShape* shape;
  };

  const Grid* grid_ = nullptr;
  CallStack* calls_ = nullptr;  // of the running thread
  uint3 block_{};               // its index in the grid
  int thread_count_ = 0, current_ = 0, finished_ = 0;

  uintptr_t dynamic_begin_ = 0, static_begin_ = 0;
  size_t dynamic_bytes_ = 0, static_bytes_ = 0;
  uintptr_t local_begin_ = 0;   // the running thread's stack
  uintptr_t stacks_begin_ = 0;  // all threads'
  uintptr_t thread_begin_ = 0;  // the core's thread-local storage
  size_t thread_bytes_ = 0;
  std::vector<DeclaredArray> declared_;  // __shared__ arrays that the block has come to
  const char* dynamic_name_ = nullptr;
  const char* dynamic_name_of_file_ = nullptr;  // of one that is declared outside of functions
  SharedShape dynamic_shape_, dynamic_shape_of_file_;

  const std::vector<RunningBlock*>* cluster_blocks_ = nullptr;  // by rank
  int rank_ = 0;
  uintptr_t image_begin_ = 0;  // where static shared memory lies while other blocks run
};

/// The block that this OS thread runs, or null.
extern constinit thread_local RunningBlock* the_block;
/// The same while the block's own code runs, and null while the simulator does: code of the
/// standard library may be instrumented in one and then, by the linker, in the other, too.
extern constinit thread_local RunningBlock* kernel_block;
inline RunningBlock* current_block() {
  return kernel_block;
}

/// In this scope the simulator works, not a kernel.
class SimulatorScope {
 public:
  SimulatorScope() : block_(std::exchange(kernel_block, nullptr)) {}
  ~SimulatorScope() { kernel_block = block_; }
  SimulatorScope(const SimulatorScope&) = delete;

 private:
  RunningBlock* const block_;
};

}  // namespace simulator
