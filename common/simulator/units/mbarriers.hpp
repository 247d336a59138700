// Barriers in shared memory that count arrivals and bytes (common/kernel/barrier.cuh).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/simulator/check/checks.hpp"

namespace simulator {

class RunningBlock;

struct Mbarrier {
  uintptr_t address = 0;
  uint32_t unit = 0;      // in whose name copies write whose bytes arrive here
  int64_t arrivals = 0;   // of a phase, as it was made
  bool is_shown = false;  // to the TMA unit and the cluster, by a fence
  int made_by = 0;
  uint32_t phase = 0;  // the current one; its parity is that of the number
  // Of the current phase:
  int64_t arrived = 0, expected_bytes = 0, came_bytes = 0;
  Knowledge arriving;   // what those know who have arrived
  Knowledge completed;  // … and had, for the phases before
  std::vector<int> waiting;
  std::map<int, uint32_t> waited_for;  // of threads: how many phases, from 0 on

  bool completes() const { return arrived == arrivals && came_bytes == expected_bytes; }
};

class Mbarriers {
 public:
  explicit Mbarriers(RunningBlock& running) : running_(running) {}
  void begin_block() { barriers_.clear(); }

  void make(uint64_t* barrier, uint32_t arrivals, const void* instruction);
  /// Those that the running thread has made are shown.
  void show();
  void arrive(Mbarrier& barrier, uint32_t bytes, const void* instruction);
  /// At the same barrier of another block of the cluster.
  void arrive_at(uint32_t block, uint64_t* barrier, const void* instruction);
  void wait(uint64_t* barrier, uint32_t parity, const void* instruction);
  /// So many bytes of copies have come.
  void bytes_came(Mbarrier& barrier, int64_t bytes, const void* instruction);
  /// The barrier at this address, which the running thread uses.
  Mbarrier& find(uintptr_t barrier, const char* what, const void* instruction);
  /// The barrier at this address, which the running thread of another block uses.
  Mbarrier& find_from(RunningBlock& other, uintptr_t barrier, const char* what,
                      const void* instruction);
  /// "full[1]", "phase 2: expected 32768 bytes, 16384 came; 2 arrivals of 3".
  std::string name(const Mbarrier& barrier) const;
  static std::string state(const Mbarrier& barrier);

 private:
  Mbarrier& look_up(uintptr_t barrier, const char* what, const void* instruction);
  void count_arrival(Mbarrier& barrier, uint32_t bytes, const void* instruction);
  void complete(Mbarrier& barrier);
  std::map<uintptr_t, Mbarrier> barriers_;
  RunningBlock& running_;
};

}  // namespace simulator
