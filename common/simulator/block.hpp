// One block at a time on one core: the block's threads are fibers, and the barriers switch between
// them.
#pragma once

#include <boost/context/fiber.hpp>
#include <csetjmp>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/simulator/checks.hpp"
#include "common/simulator/device.hpp"
#include "common/simulator/profile.hpp"
#include "common/simulator/symbols.hpp"
#include "device_functions.h"
#include "launch_site.h"

namespace simulator {

/// A kernel did what it must not. `what()` is the report; `error` is what CUDA calls it.
struct Fault : std::runtime_error {
  Fault(cudaError_t error, const std::string& report) : std::runtime_error(report), error(error) {}
  cudaError_t error;
};

/// What every block of one launch shares.
struct Grid {
  Launch launch;
  void (*call)(const void*);
  const void* context;
  uint32_t number;  // of the launch, from 1
};

/// A worker runs blocks, one after another, on the OS thread that made it.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;

  /// Runs one block to its end. Throws Fault; the worker can run other blocks after that.
  void run_block(const Grid& grid, uint3 block);

  /// Called by the CUDA thread that is running, on its fiber.
  int barrier(BarrierKind kind, int predicate, Where where);
  uint64_t warp(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                Where where);
  unsigned active_lanes() const;
  int lane() const { return current_ % 32; }

  void* dynamic_shared() { return dynamic_shared_; }
  size_t dynamic_shared_bytes() const { return dynamic_bytes_; }
  uintptr_t static_shared() const { return static_begin_; }
  int current() const { return current_; }
  /// The place in the program of the call that returns to `after`.
  uint32_t call_before(const void* after) const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(after) - 1 - program);
  }
  const char* kernel() const { return grid_->launch.kernel; }
  /// "block (0,1) thread (3,4)", for a thread of a block by its number in the grid.
  std::string place(uint32_t thread, uint32_t block) const;
  /// Is this address in the shared memory of the block that is running?
  bool is_shared(uintptr_t address) const {
    return address - dynamic_begin_ < kSharedPerBlockOptin ||
           address - static_begin_ < static_bytes_;
  }
  /// Ends the block where no exception can be thrown, as in a signal handler: the running thread's
  /// stack is given up. SIGBUS stands for a misaligned access.
  [[noreturn]] void crash(int signal, const void* address, const void* instruction);
  /// The same for an index outside an array: `array` is its type, as the compiler writes it.
  [[noreturn]] void crash_at_index(const char* array, int64_t index, const void* instruction);

  tutorial::Work work;
  std::unique_ptr<Checks> checks;  // null when they are off
  Profile* profile = nullptr;      // null when none is wanted
  const uintptr_t program = program_start();
  const uintptr_t device = device_begin();  // at hand for the test of every access

 private:
  enum class State : uint8_t { not_started, ready, at_barrier, at_warp_operation, finished };
  struct Fiber {
    boost::context::fiber context;  // empty while it runs
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
  };

  void schedule();
  void resume(Fiber& fiber);
  void suspend();
  void fiber_main(Fiber& fiber);
  Fiber& idle_fiber();
  void abandon_fibers();
  void select(int thread);
  unsigned living_lanes(int first) const;
  void finish_barrier();
  bool try_finish_warp(int thread);
  void on_thread_finished(int thread);
  void poison_shared();
  void throw_crash();
  [[noreturn]] void report_stuck();
  std::string where_am_i(int thread) const;

  const Grid* grid_ = nullptr;
  Profile own_profile_;
  std::vector<Thread> threads_;
  int current_ = 0, next_ = 0, finished_ = 0, waiting_ = 0;
  std::vector<int> ready_;
  size_t ready_next_ = 0;
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

  sigjmp_buf crash_return_;
  int crash_signal_ = 0;  // 0: an index
  const char* crash_array_ = nullptr;
  int64_t crash_index_ = 0;
  const void* crash_address_ = nullptr;
  const void* crash_instruction_ = nullptr;
};

/// The worker of this OS thread while it runs a block, else null.
extern constinit thread_local Worker* the_worker;
inline Worker* current_worker() {
  return the_worker;
}

}  // namespace simulator
