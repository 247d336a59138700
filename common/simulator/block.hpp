// One block at a time on one core: the block's threads are fibers, and the barriers switch between
// them.
#pragma once

#include <atomic>
#include <boost/context/fiber.hpp>
#include <csetjmp>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/async_copies.hpp"
#include "common/simulator/checks.hpp"
#include "common/simulator/cluster.hpp"
#include "common/simulator/device.hpp"
#include "common/simulator/matrix.hpp"
#include "common/simulator/order.hpp"
#include "common/simulator/spin_watch.hpp"
#include "common/simulator/stream_order.hpp"
#include "common/simulator/symbols.hpp"
#include "common/simulator/trace.hpp"
#include "device_functions.h"
#include "launch_site.h"

namespace simulator {

struct Hopper;
struct Waiting;

/// A kernel did what it must not. `what()` is the report; `error` is what CUDA calls it.
struct Fault : std::runtime_error {
  Fault(cudaError_t error, const std::string& report) : std::runtime_error(report), error(error) {}
  cudaError_t error;
};

/// True while each basic block of a kernel must be looked at: for a profile, or because the watch
/// has something to say to this worker.
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

/// A worker runs blocks, one after another, on the OS thread that made it.
class Worker {
 public:
  /// `leader`: of the same OS thread, where this one is for another block of its cluster.
  explicit Worker(Worker* leader = nullptr);
  ~Worker();
  Worker(const Worker&) = delete;

  /// Runs one block to its end. Throws Fault; the worker can run other blocks after that.
  void run_block(const Grid& grid, uint3 block);
  /// The same for the cluster whose first block this is (cluster.cpp).
  void run_cluster(const Grid& grid, uint3 first);
  /// What was counted since it was last asked, also of the other blocks of its clusters.
  std::vector<Profiled> take_profiles();
  /// Gives up the memory that only clusters need.
  void forget_clusters() { others_.clear(); }

  /// Called by the CUDA thread that is running, on its fiber.
  int barrier(BarrierKind kind, int predicate, Where where);
  uint64_t warp(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                Where where);
  /// All 32 lanes come; the last one to come runs the operation over what each brought. Nothing in
  /// memory is ordered by it. `instruction`: where the lane's call returns to.
  void matrix(const MatrixOperation& operation, void* part, const void* instruction);
  /// While it runs: what the checks and the profile are told next is that lane's doing, up to
  /// settle() at the latest.
  void speak_for_lane(int lane) { current_ = current_ / 32 * 32 + lane; }
  void settle();
  unsigned active_lanes() const;
  int lane() const { return current_ % 32; }
  void declare_shared(const char* name, uintptr_t array, size_t bytes, const SharedShape& shape);
  /// `shape` is that of an array without a first extent: the element of `extern __shared__ T s[]`.
  void* declare_dynamic_shared(const char* name, const SharedShape& shape);
  void* declare_dynamic_shared_of_file(const char* name, const SharedShape& shape);

  /// Lets other threads run until one of them wakes the running thread.
  void wait_for(const Waiting& what);
  void wake(int thread);
  int threads() const { return static_cast<int>(threads_.size()); }
  // Of the cluster that the block is in; of none, it is the only one in its own (cluster.cpp).
  // `instruction`: where the call returns to.
  Cluster& cluster();
  int rank_in_cluster() const { return rank_; }
  void cluster_arrive(const void* instruction);
  void cluster_wait(const void* instruction);
  /// Ends the launch if the kernel's __cluster_dims__ says another size than the launch has.
  void require_cluster(dim3 size) const;
  /// All threads of the cluster have arrived.
  void cluster_passed();
  /// Where the same variable lies in another block of the cluster.
  void* map_shared(const void* address, int64_t rank, const void* instruction);
  /// The rank of the block whose shared memory this is.
  unsigned shared_rank(const void* address) const;
  /// The other block of the cluster in whose shared memory this address is, or null.
  Worker* owner_in_cluster(uintptr_t address) const;
  bool is_alone() const { return cluster_ == nullptr || cluster_->size() == 1; }
  /// Where the same variable lies in this block.
  uintptr_t own_address(uintptr_t address, const Worker& owner) const {
    return address - owner.dynamic_begin_ < kSharedPerBlockOptin
               ? address - owner.dynamic_begin_ + dynamic_begin_
               : address - owner.image_begin_ + static_begin_;
  }
  /// In this block, the address of what lies at `address` in `other`, as the blocks see themselves.
  uintptr_t same_address(uintptr_t address, const Worker& other) const {
    return address - other.dynamic_begin_ < kSharedPerBlockOptin
               ? address - other.dynamic_begin_ + dynamic_begin_
               : address;
  }
  /// Where other blocks reach what lies here at this address.
  uintptr_t address_from_others(uintptr_t address) const {
    return address - static_begin_ < static_bytes_ ? address - static_begin_ + image_begin_
                                                   : address;
  }
  Worker& block_of_cluster(int64_t rank, const void* instruction);
  bool has_left() const { return finished_ == static_cast<int>(threads_.size()); }

  void* dynamic_shared() { return dynamic_shared_; }
  size_t dynamic_shared_bytes() const { return dynamic_bytes_; }
  uintptr_t static_shared() const { return static_begin_; }
  int current() const { return current_; }
  /// The place in the program of the call that returns to `after`.
  uint32_t call_before(const void* after) const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(after) - 1 - program);
  }
  const char* kernel() const { return grid_->launch.kernel; }
  /// Of the block that runs: its number in the grid, and "block (0,1)".
  uint32_t block_number() const;
  std::string block_text() const;
  /// "block (0,1) thread (3,4)", for a thread of a block by its number in the grid.
  std::string place(uint32_t thread, uint32_t block) const;
  std::string place_of_running_thread() const;
  /// "shared memory As[3][17]".
  std::string shared_name(uintptr_t address) const;
  /// For a report: how far the address is from the nearest array of static shared memory.
  std::string near_shared_array(uintptr_t address) const;

  bool is_own_stack(uintptr_t address) const { return address - local_begin_ < kStack; }
  /// What may always be used: the running thread's local variables, and static ones.
  bool is_private(uintptr_t address) const {
    return is_own_stack(address) || address - thread_begin_ < thread_bytes_ ||
           is_in_program(address);
  }
  bool is_stack(uintptr_t address) const {  // of any of the block's threads
    return address - reinterpret_cast<uintptr_t>(stacks_) < kMaxThreads * kStack;
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
  /// Ends the block where no exception can be thrown, as in a signal handler: the running thread's
  /// stack is given up. SIGBUS stands for a misaligned access.
  /// `stack`: where the crashed thread's stack had come to, or 0.
  [[noreturn]] void crash(int signal, const void* address, const void* instruction,
                          uintptr_t stack = 0);
  /// The same for an index outside an array: `array` is its type, as the compiler writes it.
  [[noreturn]] void crash_at_index(const char* array, int64_t index, const void* instruction);

  /// The same for a pointer that has left a local variable or array.
  [[noreturn]] void crash_past_local(const void* instruction) {
    crash(kPastLocal, nullptr, instruction);
  }
  /// The same when the watch says so, of a thread or of the whole launch.
  void heed_watch(const void* instruction) {
    if (progress.must_stop()) crash(kStopped, nullptr, instruction);
  }
  /// The same for a function that no device code may call.
  [[noreturn]] void crash_in_exit(const void* instruction) { crash(kExit, nullptr, instruction); }

  AsyncCopies async_copies;
  const std::unique_ptr<Hopper> hopper;
  bool watch_locals = false;  // products use registers of the block's threads
  Checks* checks = nullptr;   // null when they are off

 private:
  const std::unique_ptr<Progress> own_progress_;

 public:
  Progress& progress;      // of the OS thread
  Trace* trace = nullptr;  // null when no profile is wanted
  const uintptr_t program = program_start();
  const uintptr_t device = device_begin();  // at hand for the test of every access

 private:
  static constexpr int kMaxThreads = 1024;
  static constexpr size_t kStack = 128 * 1024;  // of one CUDA thread; its lowest page is a guard
  static constexpr size_t kPage = 4096;
  static constexpr uintptr_t kStaticOffset = 256 * 1024;

  friend class Cluster;

  enum class State : uint8_t {
    not_started,
    ready,
    at_barrier,
    at_warp_operation,
    waiting,
    at_cluster_barrier,
    finished
  };
  struct Fiber {
    boost::context::fiber context;  // empty while it runs
    uintptr_t stack = 0;            // its lowest address
  };
  struct DeclaredArray {
    const char* name;
    uintptr_t begin;
    size_t bytes;
    const SharedShape* shape;
  };
  struct Thread {
    State state = State::not_started;
    Fiber* fiber = nullptr;
    Where where;
    BarrierKind barrier_kind{};
    WarpKind warp_kind{};
    bool is_signed = false;
    int predicate = 0;  // of a barrier, then its result
    int source = 0;     // lane, of a shuffle
    unsigned mask = 0;
    uint64_t value = 0;  // given to a warp operation, then its result
    // Of an operation on matrices, whose place is that of its instruction:
    const MatrixOperation* operation = nullptr;
    const void* instruction = nullptr;
    const Waiting* waits_for = nullptr;
    int arrivals = 0, waits = 0;  // at the cluster's barrier
  };

  void begin_block(const Grid& grid, uint3 block);
  void poison_static_shared() { poison_static_shared(thread_local_base() + shared_begin()); }
  void poison_static_shared(unsigned char* begin);
  void prepare_for_cluster(Cluster& cluster, int rank);
  void tell_cluster_wait(const void* instruction);
  [[noreturn]] void refuse_address(const void* instruction, const std::string& what) const;
  [[noreturn]] void refuse_in_cluster(const void* instruction, const std::string& what) const;
  void make_current();
  bool run();
  bool schedule();
  void go_on(int thread);
  void resume(Fiber& fiber);
  void suspend();
  void fiber_main(Fiber& fiber);
  Fiber& idle_fiber();
  int next_thread();
  int next_ready();
  void abandon_fibers();
  void select(int thread);
  unsigned living_lanes(int first) const;
  void finish_barrier();
  bool try_finish_warp(int thread);
  bool is_at_same(const Thread& other, const Thread& asked) const;
  void run_matrix(int warp, unsigned lanes);
  bool converge();
  void on_thread_finished(int thread);
  void tell_warp_operation(int warp, const Thread& asked, unsigned lanes, unsigned living);
  void throw_crash();
  [[noreturn]] void report_stuck();
  SourcePlace place_of_operation(const Thread& thread) const;
  std::string place_of_thread(const Thread& thread) const;
  std::string groups_of_threads() const;
  std::string missing_lanes(int thread) const;
  std::string why_absent(int thread, int lane) const;
  std::string where_am_i(int thread) const;

  const Grid* grid_ = nullptr;
  Trace own_trace_;
  std::vector<Thread> threads_;
  int current_ = 0, next_ = 0, finished_ = 0;
  int capability_ = 0;
  int waiting_ = 0, waiting_lanes_ = 0;  // at a barrier; at an operation of a warp
  std::vector<int> ready_;
  size_t ready_next_ = 0;
  std::vector<int> order_;  // in which the threads begin; empty: 0, 1, 2 …
  Shuffle shuffle_;
  static constexpr int kNoWarp = -1;
  int late_warp_ = kNoWarp;  // in a shuffled order: goes on only when nobody else can
  std::vector<int> late_;    // its threads that could
  boost::context::fiber scheduler_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;  // those between CUDA threads
  std::string fault_;         // of a thread, carried to the scheduler
  cudaError_t fault_error_ = cudaSuccess;

  unsigned char* stacks_ = nullptr;
  unsigned char* signal_stack_ = nullptr;
  void* dynamic_shared_ = nullptr;
  uintptr_t dynamic_begin_ = 0, static_begin_ = 0;
  size_t dynamic_bytes_ = 0, static_bytes_ = 0;
  uintptr_t local_begin_ = 0;   // the running thread's stack
  uintptr_t thread_begin_ = 0;  // the worker's thread-local storage
  size_t thread_bytes_ = 0;
  std::vector<DeclaredArray> declared_;  // __shared__ arrays that the block has come to
  const char* dynamic_name_ = nullptr;
  const char* dynamic_name_of_file_ = nullptr;  // of one that is declared outside of functions
  SharedShape dynamic_shape_, dynamic_shape_of_file_;
  std::unique_ptr<Checks> own_checks_;

  uint3 block_{};                                // its index in the grid
  Worker* const leader_;                         // null: it is one itself
  std::vector<std::unique_ptr<Worker>> others_;  // of the clusters that it leads, from rank 1 on
  Cluster* cluster_ = nullptr;                   // that the block is in, or asked for
  std::unique_ptr<Cluster> own_cluster_;
  int rank_ = 0;
  unsigned char* image_ = nullptr;             // of static shared memory, while other blocks run
  uintptr_t image_begin_ = 0;                  // where in it the first array is; 0: nowhere
  int at_cluster_barrier_ = 0;                 // threads that have come to the wait
  std::vector<int> lanes_at_cluster_barrier_;  // of each warp

  sigjmp_buf crash_return_;
  static constexpr int kIndex = 0, kStopped = -1, kExit = -2, kPastLocal = -3;
  int crash_signal_ = 0;  // or one of these
  const char* crash_array_ = nullptr;
  int64_t crash_index_ = 0;
  const void* crash_address_ = nullptr;
  const void* crash_instruction_ = nullptr;
  uintptr_t crash_stack_ = 0;
};

/// The worker of this OS thread while it runs a block, else null.
extern constinit thread_local Worker* the_worker;
/// The same while the block's own code runs, and null while the simulator does: code of the
/// standard library may be instrumented in one and then, by the linker, in the other, too.
extern constinit thread_local Worker* kernel_worker;
inline Worker* current_worker() {
  return kernel_worker;
}

/// In this scope the simulator works, not a kernel.
class SimulatorScope {
 public:
  SimulatorScope() : worker_(std::exchange(kernel_worker, nullptr)) {}
  ~SimulatorScope() { kernel_worker = worker_; }
  SimulatorScope(const SimulatorScope&) = delete;

 private:
  Worker* const worker_;
};

}  // namespace simulator
