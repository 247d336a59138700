// A cluster: blocks that run at the same time, each by a worker of its own, and use each other's
// shared memory. Of the workers one runs at a time: when none of its threads can go on, it is the
// next one's turn. So what a cluster does is the same each time, and its workers need no locks.
#pragma once

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/checks.hpp"
#include "vector_types.h"

namespace simulator {

class Worker;

class Cluster {
 public:
  explicit Cluster(int size) : size(size), members(static_cast<size_t>(size)), meeting_(size) {}

  // ---- Turns
  /// Until all members have come: before their blocks begin, and when all have ended.
  void meet() { meeting_.arrive_and_wait(); }
  /// By each member, between two meetings.
  void begin(int rank, Worker& worker, int threads);
  void wait_for_turn(int rank);
  /// The running member has done something since the others could do nothing.
  void advanced() { idle_ = 0; }
  /// The running member can do nothing, and it is the next one's turn. False: nobody can.
  bool pass(int rank);
  void finished(int rank);
  void failed(int rank);  // with a report: the others give up

  // ---- The barrier of all threads
  void arrive(Worker& worker, const void* instruction);
  void wait(Worker& worker, const void* instruction);
  void thread_left(Worker& worker, int thread);
  /// What those know who have passed the barrier so many times.
  const Knowledge* passed(int times) const {
    return times == 0 ? nullptr : &known_[static_cast<size_t>(times - 1)];
  }
  std::string state() const;

  /// The member whose shared memory this address is in, or null.
  Worker* owner(uintptr_t address) const;

  const int size;
  int64_t number = 0;  // of the cluster in its grid, in the order in which they run
  std::vector<Worker*> members;
  bool has_failed = false;

 private:
  void next(int rank);
  void complete_if_all_have_come();

  std::barrier<> meeting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int turn_ = 0, idle_ = 0, unfinished_ = 0;
  std::vector<bool> is_finished_ = std::vector<bool>(static_cast<size_t>(size));
  int living_ = 0, arrived_ = 0;
  std::vector<std::pair<Worker*, int>> waiting_;
  std::vector<Knowledge> known_;
  Knowledge arriving_;
};

}  // namespace simulator
