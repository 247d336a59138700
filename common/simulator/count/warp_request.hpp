// What one memory instruction of a warp costs, by the rules of the hardware: 32-byte sectors of
// global memory, wavefronts of shared memory. The rules are those that an H100's and an H200's
// counters follow, pattern for pattern: docs/results/NVIDIA_H100_80GB_HBM3/access_patterns.csv and
// docs/results/NVIDIA_H200/matrix_patterns.csv, which a test compares with these.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace simulator {

/// The addresses at which the lanes of a warp access memory in one instruction, `bytes` each.
struct WarpRequest {
  uint32_t lanes = 0;  // which take part: a bit a lane
  uint32_t bytes = 0;  // 1, 2, 4, 8 or 16
  std::array<uintptr_t, 32> address;
};

/// A set of at most 32·5 numbers, of which there are few.
class Distinct {
 public:
  bool insert(uintptr_t number) {
    if (std::find(numbers_.begin(), numbers_.begin() + count_, number) != numbers_.begin() + count_)
      return false;
    numbers_[static_cast<size_t>(count_++)] = number;
    return true;
  }
  int count() const { return count_; }

 private:
  std::array<uintptr_t, 160> numbers_;
  int count_ = 0;
};

/// The different sectors (32 bytes, aligned) that a load or a store touches.
int sectors(const WarpRequest& request);
/// Of 16-byte asynchronous copies to shared memory: 8 lanes at a time, the larger of what they read
/// and what they write. (Copies of 4 bytes are counted as loads.)
int copy_sectors(const WarpRequest& from, const WarpRequest& to);
/// The same for an atomic function: lanes that want the same address take turns.
int atomic_sectors(const WarpRequest& request);

/// Passes through the 32 banks of shared memory, four bytes wide each. A pass serves every bank
/// once; lanes that want the same four bytes share. `least` are those that the width alone needs,
/// the others are bank conflicts.
struct Wavefronts {
  int all = 0, least = 0;
};
Wavefronts shared_load(const WarpRequest& request);
Wavefronts shared_store(const WarpRequest& request);
/// Of ldmatrix and stmatrix, to which each lane gives the address of a row of 16 bytes: one matrix,
/// 8 lanes, at a time.
Wavefronts shared_rows(const WarpRequest& request);

}  // namespace simulator
