// Loads of shared memory as nvcc makes them: neighbours that each lane reads one after another, at
// the same place of the program, become one load of 8 or 16 bytes where they are aligned so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/simulator/count/warp_request.hpp"

namespace simulator {

class MergedLoads {
 public:
  void load(int warp, uint32_t instruction, const WarpRequest& request);
  /// The requests so far, and their passes. Ends the runs.
  int64_t requests();
  const std::unordered_map<uint32_t, int64_t>& requests_by_instruction() {
    return end_all(), requests_;
  }
  int64_t passes() { return end_all(), passes_; }

 private:
  /// What each lane reads from `first` on.
  struct Run {
    WarpRequest first;
    uint32_t bytes = 0;
  };
  void end(uint32_t instruction, Run& run);
  void end_all();

  std::vector<std::unordered_map<uint32_t, Run>> warps_;  // by instruction
  std::unordered_map<uint32_t, int64_t> requests_;        // by instruction
  int64_t passes_ = 0;
};

}  // namespace simulator
