// Ends launches that would not end: a thread that spins on a flag or a lock for a thread of its own
// block waits in vain, because only barriers and operations of a warp turn to another thread; a
// loop may have no end; and a launch may do far more than it was meant to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"

namespace simulator {

/// What a worker tells about itself while it runs, and what the watch answers.
class Progress {
 public:
  /// `heed`: set by the watch when the worker must look at must_stop().
  explicit Progress(std::atomic<bool>& heed);
  ~Progress();
  Progress(const Progress&) = delete;

  std::atomic<uint64_t> turns = 0;     // to another thread
  std::atomic<uint64_t> accesses = 0;  // of device or shared memory
  std::atomic<uint64_t> global = 0;    // of global memory
  std::atomic<uintptr_t> address = 0;  // of the last one

  void access(uintptr_t at) {
    add_one(accesses);
    address.store(at, std::memory_order_relaxed);
  }
  void global_access(uintptr_t at) {
    add_one(global);
    access(at);
  }
  void turn() { add_one(turns); }
  void rest() { address.store(0, std::memory_order_relaxed); }  // at the end of a block

  /// From the watch. `turn`: only as long as the thread of this turn runs.
  void stop(const std::string& why, uint64_t turn = kAnyTurn);
  void go_on();  // before a launch
  bool must_stop() const;
  const std::string& why() const { return why_; }

  /// Returns when no other worker is just about to write to this address, as far as that shows.
  void wait_for_others(uintptr_t at) const;

 private:
  static constexpr uint64_t kAnyTurn = UINT64_MAX;
  static void add_one(std::atomic<uint64_t>& count) {  // only the worker writes these
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<bool>& heed_;
  std::atomic<bool> stopped_ = false;
  uint64_t stopped_turn_ = kAnyTurn;
  std::string why_;
};

inline constexpr double kLookEvery = 0.1;  // seconds

/// Watches one worker; `time`: the processor time of its thread. After `patience()` seconds of
/// processor time without a turn, in which the same few addresses were accessed again and again, or
/// none, it gives the thread up.
class SpinWatch {
 public:
  void begin(double time);
  void look(Progress& progress, double time);
  /// Since begin().
  double seconds(double time) const { return time - begin_; }

 private:
  void start_again(const Progress& progress, double now);
  uint64_t turns_ = UINT64_MAX, accesses_ = 0, first_ = 0;
  double since_ = 0, begin_ = 0;
  std::set<uintptr_t> addresses_;
};

double patience();  // seconds: 20, and a tenth of it once a thread was given up
void set_patience(double seconds);

/// How long a launch may take of one core's time: 0, no limit, or seconds. After one launch has
/// come to the limit, the others have a tenth of it.
double launch_limit();
void set_launch_limit(double seconds);
void launch_was_ended();

/// How many accesses of global memory a launch of this kernel may make: ten times what is expected
/// of it, or any number if this is 0.
double access_limit(const std::string& kernel);
void set_expected(std::vector<tutorial::Asked> asked);

}  // namespace simulator
