// What a block touches of global memory, for a sample (sample.hpp): which sectors, and how far
// apart in time a warp comes back to one, which decides whether the L1 cache still has it.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/backend/sample.hpp"
#include "common/simulator/count/warp_request.hpp"

namespace simulator {

class Footprint {
 public:
  /// A load of a warp, which goes through L1.
  void load(int warp, const WarpRequest& request);
  /// What goes to L2 at once: 16-byte asynchronous copies, the TMA unit.
  void load_past_l1(uintptr_t begin, uintptr_t end);
  void load_past_l1(const WarpRequest& request);
  void store(uintptr_t begin, uintptr_t end);
  void store(const WarpRequest& request);

  /// The sectors; one may be there several times.
  const std::vector<uintptr_t>& loaded() const { return loaded_; }
  const std::vector<uintptr_t>& stored() const { return stored_; }
  int64_t past_l1() const { return past_l1_; }
  /// Passes of loads and stores through L1: a line of 128 bytes at a time.
  int64_t lines() const { return lines_; }
  /// Of the loads through L1, by kShareOfL1: if the warps of the block go through the program side
  /// by side, what one has fetched is there for the others.
  std::array<double, 3> missed_l1() const;

 private:
  struct Warp {
    int64_t now = 0;                              // sectors touched
    std::unordered_map<uintptr_t, int64_t> last;  // when each was touched
    std::array<int64_t, 3> missed{};
  };
  static void add(std::vector<uintptr_t>& sectors, uintptr_t begin, uintptr_t end);

  std::vector<Warp> warps_;
  std::vector<uintptr_t> loaded_, stored_;
  int64_t past_l1_ = 0, lines_ = 0;
  void count_lines(const WarpRequest& request);
};

}  // namespace simulator
