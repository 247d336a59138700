// Finds a thread that waits for ever. Only barriers and operations of a warp turn to another
// thread; one that spins on a flag or a lock, for a thread of its own block, waits in vain.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

namespace simulator {

/// What a worker tells about itself while it runs.
class Progress {
 public:
  std::atomic<uint64_t> turns = 0;          // to another thread
  std::atomic<uint64_t> accesses = 0;       // of device or shared memory
  std::atomic<uintptr_t> address = 0;       // of the last one
  std::atomic<uint64_t> vain = UINT64_MAX;  // the answer: since this turn it has waited in vain

  /// True when the running thread waits in vain.
  bool access(uintptr_t at) {
    add_one(accesses);
    address.store(at, std::memory_order_relaxed);
    return vain.load(std::memory_order_relaxed) == turns.load(std::memory_order_relaxed);
  }
  void turn() { add_one(turns); }

 private:
  static void add_one(std::atomic<uint64_t>& count) {  // only the worker writes these
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

inline constexpr double kLookEvery = 0.1;  // seconds

/// Watches one worker: after `patience()` seconds of processor time without a turn, in which the
/// same few addresses were accessed again and again, it gives up.
class SpinWatch {
 public:
  void look(Progress& progress, pthread_t worker);

 private:
  void start_again(const Progress& progress, double now);
  uint64_t turns_ = UINT64_MAX, accesses_ = 0;
  double since_ = 0;
  std::set<uintptr_t> addresses_;
};

double patience();  // seconds; 20
void set_patience(double seconds);

}  // namespace simulator
