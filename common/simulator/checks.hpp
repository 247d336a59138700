// The checks of every access of a kernel: bounds, races, reads of what nobody wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/device.hpp"
#include "common/simulator/shadow.hpp"
#include "runtime_api.h"

namespace simulator {

class Worker;

enum class AccessKind : uint8_t { read, write, atomic };

/// A worker's part of the checks: the clocks of the block that it runs, and the cells of its shared
/// memory.
class Checks {
 public:
  explicit Checks(Worker& worker);

  void begin_block(uint32_t launch, uint32_t block, int threads, size_t dynamic_shared);
  void barrier_passed();  // by the whole block
  void warp_passed(int warp, unsigned lanes, unsigned living);

  void global_access(uintptr_t address, size_t bytes, AccessKind kind, const void* instruction);
  void shared_access(uintptr_t address, size_t bytes, AccessKind kind, const void* instruction);
  /// An atomic on a __device__ variable, which is no device memory here: it, too, orders blocks.
  void atomic_elsewhere() { block_used_atomics_ = true; }

 private:
  struct SharedCell : Cell {
    uint32_t run = 0;  // the run of a block that `written` is of
    uint8_t written = 0;
  };
  Record record_now(const void* instruction) const;
  bool ordered(const Record& before, bool is_global) const;
  void visit(Cell& cell, uint8_t bytes, AccessKind kind, const Record& now, bool is_global,
             uintptr_t address);
  void report_race(const Record& before, bool before_writes, const Record& now, bool now_writes,
                   bool is_global, uintptr_t address);
  void report_unwritten(const Record& now, bool is_global, uintptr_t address);
  void report_bounds(const Record& now, bool is_write, const std::string& where);
  bool in_allocation(uintptr_t address, size_t bytes);
  std::string place(const Record& record, bool is_global) const;

  Worker& worker_;
  uint32_t launch_ = 0, run_ = 0, block_ = 0;
  bool block_used_atomics_ = false;
  std::vector<uint32_t> clock_, barrier_clock_, full_clock_;  // of each warp
  std::vector<uint32_t> pair_clock_;                          // of each warp, 32×32 lanes
  std::vector<bool> pairs_used_;
  Allocation recent_[4];
  int recent_next_ = 0;
  std::vector<SharedCell> static_cells_, dynamic_cells_;
};

// ---- What was found, over all workers of a launch

/// One line of a report: an access, with its place.
struct Finding {
  std::string kind;        // "race", "init", "bounds"
  uint32_t first, second;  // instructions; with the kind they tell findings apart
  std::string report;      // all lines but the count
  cudaError_t error;
  int64_t count = 0;
};

/// Counts the finding; true when it is new, and `describe_finding` must follow.
bool is_new_finding(const char* kind, uint32_t first, uint32_t second);
void describe_finding(Finding finding);

/// The reports of the launch that has just ended, and its error; forgets them.
std::pair<cudaError_t, std::string> take_findings();

/// False when the environment has SIMULATOR_CHECKS=off.
bool checks_are_on();

}  // namespace simulator
