// One block at a time on one core: the block's threads are fibers, and the barriers switch between
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/check/spin_watch.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/run/cluster.hpp"
#include "common/simulator/run/order.hpp"
#include "common/simulator/units/async_copies.hpp"
#include "common/simulator/units/hopper.hpp"
#include "common/simulator/units/matrix.hpp"
#include "common/simulator/world/crashes.hpp"
#include "common/simulator/world/fiber.hpp"
#include "device_functions.h"
#include "simulator/launch_site.h"

namespace simulator {

/// A worker runs blocks, one after another, on the OS thread that made it.
class Worker final : public RunningBlock {
 public:
  /// `leader`: of the same OS thread, where this one is for another block of its cluster.
  explicit Worker(Worker* leader = nullptr);
  ~Worker();

  /// Runs one block to its end. Throws Fault; the worker can run other blocks after that.
  void run_block(const Grid& grid, uint3 block);
  /// The same for the cluster whose first block this is (cluster.cpp).
  void run_cluster(const Grid& grid, uint3 first);
  /// What was counted since it was last asked, also of the other blocks of its clusters.
  std::vector<Profiled> take_profiles();
  /// Gives up the memory that only clusters need.
  void forget_clusters() { others_.clear(); }

  // ---- Called by the CUDA thread that is running, on its fiber (warp.cpp: operations of a warp)
  // `instruction`: where the call returns to, which knows its callers as `where` does not.
  int barrier(BarrierKind kind, int predicate, Where where, const void* instruction);
  uint64_t warp(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                Where where, const void* instruction);
  void matrix(const MatrixOperation& operation, void* part, const void* instruction) override;
  void settle() override;
  void enter_function(const void* inside, const void* after) {
    if constexpr (CallStack::kIsKept) calls_->enter(inside, after);
  }
  void leave_function() {
    if constexpr (CallStack::kIsKept) calls_->leave();
  }
  unsigned active_lanes() const;
  void declare_shared(const char* name, uintptr_t array, size_t bytes, const SharedShape& shape);
  /// `shape` is that of an array without a first extent: the element of `extern __shared__ T s[]`.
  void* declare_dynamic_shared(const char* name, const SharedShape& shape);
  void* declare_dynamic_shared_of_file(const char* name, const SharedShape& shape);
  void wait_for(const Waiting& what) override;
  void wake(int thread) override;

  // ---- Of the cluster that the block is in; of none, it is the only one in its own (cluster.cpp).
  // `instruction`: where the call returns to.
  Cluster& cluster();
  void cluster_arrive(bool aligned, const void* instruction);
  void cluster_wait(const void* instruction);
  /// Ends the launch if the kernel's __cluster_dims__ says another size than the launch has.
  void require_cluster(dim3 size) const;
  /// All threads of the cluster have arrived.
  void cluster_passed();
  /// Where the same variable lies in another block of the cluster.
  void* map_shared(const void* address, int64_t rank, const void* instruction);
  /// The rank of the block whose shared memory this is.
  unsigned shared_rank(const void* address) const;
  RunningBlock& block_of_cluster(int64_t rank, const void* instruction) override;

  // ---- Ends the block: the running thread's stack is given up (crash.cpp)
  [[noreturn]] void crash(const Crash& crash);
  [[noreturn]] void crash(int signal, const void* address, const void* instruction) override {
    crash(Crash{signal, address, instruction, 0});
  }
  /// For an index outside an array: `array` is its type, as the compiler writes it.
  [[noreturn]] void crash_at_index(const char* array, int64_t index, const void* instruction);
  /// For a pointer that has left a local variable or array.
  [[noreturn]] void crash_past_local(const void* instruction) {
    crash(kPastLocal, nullptr, instruction);
  }
  /// When the watch says so, of a thread or of the whole launch.
  void heed_watch(const void* instruction) override {
    if (progress.must_stop()) crash(kStopped, nullptr, static_cast<const char*>(instruction) - 1);
  }
  /// For a function that no device code may call.
  [[noreturn]] void crash_in_exit(const void* instruction) { crash(kExit, nullptr, instruction); }

 private:
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
  /// A fiber, and the lowest address of its stack.
  struct Stack {
    uintptr_t begin = 0;
    std::unique_ptr<Fiber> fiber;
    CallStack calls;  // of the thread that lives on it
  };
  struct Thread {
    State state = State::not_started;
    Stack* stack = nullptr;
    Where where;
    BarrierKind barrier_kind{};
    WarpKind warp_kind{};
    bool is_signed = false;
    int predicate = 0;  // of a barrier, then its result
    int source = 0;     // lane, of a shuffle
    unsigned mask = 0;
    uint64_t value = 0;                          // given to a warp operation, then its result
    const MatrixOperation* operation = nullptr;  // whose place is that of its instruction
    const void* instruction = nullptr;           // with its callers: what the thread waits at
    const Waiting* waits_for = nullptr;
    int arrivals = 0, waits = 0;  // at the cluster's barrier
  };

  void begin_block(const Grid& grid, uint3 block);
  void poison_static_shared() { poison_static_shared(thread_local_base() + shared_begin()); }
  void poison_static_shared(unsigned char* begin);
  void make_current();
  bool run();
  bool schedule();
  void go_on(int thread);
  Fiber* next_at_hand();
  void resume(Stack& stack);
  void suspend();
  void live_on(Stack& stack);
  Stack& idle_stack();
  int next_thread();
  int next_ready();
  void abandon_fibers();
  void select(int thread);
  void on_thread_finished(int thread);
  void finish_barrier();

  // Operations of a warp (warp.cpp).
  unsigned living_lanes(int first) const;
  bool try_finish_warp(int thread);
  bool is_at_same(const Thread& other, const Thread& asked) const;
  void run_matrix(int warp, unsigned lanes);
  bool converge();
  void tell_warp_operation(int warp, const Thread& asked, unsigned lanes, unsigned living);

  // A cluster (cluster.cpp).
  void prepare_for_cluster(Cluster& cluster, int rank);
  void tell_cluster_wait(const void* instruction);
  [[noreturn]] void refuse_address(const void* instruction, const std::string& what) const;
  [[noreturn]] void refuse_in_cluster(const void* instruction, const std::string& what) const;

  // Nobody can go on (stuck.cpp); somebody has crashed (crash.cpp).
  [[noreturn]] void report_stuck();
  SourcePlace place_of_operation(const Thread& thread) const;
  SourcePlace place_with_callers(const Thread& thread) const;
  bool is_known_by_instruction(const Thread& thread) const;
  std::string place_of_thread(const Thread& thread) const;
  std::string groups_of_threads() const;
  std::string missing_lanes(int thread) const;
  std::string why_absent(int thread, int lane) const;
  void throw_crash();

  Worker* const leader_;  // null: it is one itself
  const std::unique_ptr<Progress> own_progress_;
  const std::unique_ptr<CrashStack> crash_stack_;
  Hopper own_hopper_;
  AsyncCopies own_async_copies_;
  std::unique_ptr<Checks> own_checks_;
  Trace own_trace_;

  std::vector<Thread> threads_;
  int next_ = 0;
  int capability_ = 0;
  int waiting_ = 0, waiting_lanes_ = 0;  // at a barrier; at an operation of a warp
  std::vector<int> ready_;
  size_t ready_next_ = 0;
  std::vector<int> order_;  // in which the threads begin; empty: 0, 1, 2 …
  Shuffle shuffle_;
  static constexpr int kNoWarp = -1;
  int late_warp_ = kNoWarp;  // in a shuffled order: goes on only when nobody else can
  std::vector<int> late_;    // its threads that could
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::vector<Stack*> idle_;  // those between CUDA threads
  Fiber* fiber_ = nullptr;    // that runs, or ran last
  std::string fault_;         // of a thread, carried to the scheduler
  cudaError_t fault_error_ = cudaSuccess;

  unsigned char* const stack_pages_;
  unsigned char* const dynamic_pages_;

  std::vector<std::unique_ptr<Worker>> others_;  // of the clusters that it leads, from rank 1 on
  Cluster* cluster_ = nullptr;                   // that the block is in, or asked for
  std::unique_ptr<Cluster> own_cluster_;
  unsigned char* image_ = nullptr;             // of static shared memory, while other blocks run
  int at_cluster_barrier_ = 0;                 // threads that have come to the wait
  std::vector<int> lanes_at_cluster_barrier_;  // of each warp

  WayOut way_out_;
  static constexpr int kIndex = 0, kStopped = -1, kExit = -2, kPastLocal = -3;  // as signals
  Crash crash_{};
  const char* crash_array_ = nullptr;
  int64_t crash_index_ = 0;
};

/// The worker of this OS thread while it runs a block, else null; and while the block's own code
/// runs.
inline Worker* the_worker() {
  return static_cast<Worker*>(the_block);
}
inline Worker* kernel_worker() {
  return static_cast<Worker*>(kernel_block);
}

const char* name_of(BarrierKind kind);
const char* name_of(WarpKind kind);

}  // namespace simulator
