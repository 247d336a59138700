// The profile: puts the accesses of single threads together again to the instructions of warps.
//
// The simulator runs one thread at a time, up to a barrier or a shuffle. So each thread leaves a
// trace: the basic blocks of the program that it entered (-fsanitize-coverage=trace-pc) and its
// accesses. When all threads of a warp have come to the same point, their traces are walked through
// together as a GPU walks through a program: of the lanes those in the deepest call go on, and
// among them those that are furthest behind in the program, so that lanes that took different ways
// meet again where the ways do. Lanes that make the same access at the same step make one request.
// A recorder, where a launch has one (recorder.hpp), gets these requests in their order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/backend/profile.hpp"
#include "common/simulator/count/float_operations.hpp"
#include "common/simulator/count/footprint.hpp"
#include "common/simulator/count/merged_loads.hpp"
#include "common/simulator/count/recorder.hpp"
#include "common/simulator/count/warp_request.hpp"
#include "device_functions.h"

namespace simulator {

enum class Access : uint8_t {
  none,  // the beginning of a basic block
  load,
  copy_from,       // of a 16-byte asynchronous copy: what it reads …
  copy_to,         // … and, right after it, where it writes
  part_copy_from,  // of a narrower one, or one that fills up with zeros: counted as a load …
  part_copy_to,    // … and this only recorded
  store,
  atomic,
  shared_load,
  shared_store,
  shared_atomic,
  matrix_load,  // of shared memory, by ldmatrix, and by stmatrix: a row of 16 bytes for each lane
  matrix_store,
  warp_operation  // of some lanes of a warp, only recorded: `address` is its place in partial_
};

/// What the instructions of a kernel did, and its barriers and warp operations by file and line.
struct Profiled {
  int64_t blocks = 0, threads = 0, async_copies = 0;
  MergedLoads merged;
  // Only where a sample of the blocks runs (sample.hpp):
  int64_t steps = 0;  // basic blocks that warps entered
  tutorial::FloatWork arithmetic;
  int64_t by_warps = 0, by_warpgroups = 0;  // multiply-adds of tensor cores, as in SampledLaunch
  Footprint footprint;
  std::map<std::pair<Access, uint32_t>, tutorial::Traffic> instructions;
  std::map<std::pair<std::string, int>, tutorial::Counts> places;
};

/// All of it together.
tutorial::Counts total(const Profiled& profiled);

/// What the threads of a worker's block did since they last met, and what came of it.
class Trace {
 public:
  void begin_block(int threads, Recorder* recorder, bool sampled);

  // What the running thread does.
  void enter_function(int thread) { ++threads_[static_cast<size_t>(thread)].depth; }
  void leave_function(int thread) { --threads_[static_cast<size_t>(thread)].depth; }
  void block_entered(int thread, uint32_t instruction) {
    add(thread, instruction, Access::none, 0, 0);
  }
  void access(int thread, uint32_t instruction, Access access, uintptr_t address, size_t bytes);

  /// All lanes of a warp have come to the barrier of a cluster; and all threads of the block.
  void warp_waits(int warp) { walk(warp); }
  void count_barrier(const SourcePlace& place) {
    ++profiled_.places[{place.path, place.line}].barriers;
  }
  /// The TMA unit loads or stores a tile: counted as one request of global memory.
  void tile_copied(uint32_t instruction, bool is_store, int64_t bytes, int64_t sectors) {
    tutorial::Traffic& traffic =
        profiled_.instructions[{is_store ? Access::store : Access::load, instruction}];
    traffic.requests += 1;
    traffic.lanes += 32;
    traffic.bytes += bytes;
    traffic.sectors += sectors;
  }
  /// Of a tile: a row of it in global memory.
  void tile_row_touched(uintptr_t begin, uintptr_t end, bool is_store) {
    if (!sampled_) return;
    if (is_store)
      profiled_.footprint.store(begin, end);
    else
      profiled_.footprint.load_past_l1(begin, end);
  }
  /// Tensor cores: `multiply_adds`, as many of 16-bit numbers as would take as long.
  void multiplied(int64_t multiply_adds, bool by_warpgroup) {
    (by_warpgroup ? profiled_.by_warpgroups : profiled_.by_warps) += multiply_adds;
  }
  void async_copy_begun() { ++profiled_.async_copies; }
  /// The running thread is about to stop: what it stored last can be read.
  void settle() {
    if (stored_.bytes > 0) keep_stored_value();
  }
  bool is_recording() const { return recorder_ != nullptr; }

  // The block, or `lanes` of a warp, have come to the same place; `all`: no living lane is missing.
  void barrier_passed(Where where);
  void warp_passed(int warp, const WarpOperation& operation, bool all);
  void warp_finished(int warp) { walk(warp); }

  /// What was counted since the last call.
  Profiled take() { return std::exchange(profiled_, {}); }

 private:
  struct Event {
    uint32_t instruction;
    uint16_t depth;
    Access access;
    uint8_t bytes;
    uintptr_t address;
  };
  struct Thread {
    uint16_t depth = 0;
    std::vector<Event> trace;
    std::vector<uint8_t> stored;  // the bytes of its stores, one after another, for a recorder
  };
  /// A store of the running thread, noted before it is made.
  struct Stored {
    int thread;
    uintptr_t address;
    size_t bytes;
  };
  void add(int thread, uint32_t instruction, Access access, uintptr_t address, uint8_t bytes) {
    settle();
    Thread& self = threads_[static_cast<size_t>(thread)];
    self.trace.push_back({instruction, self.depth, access, bytes, address});
  }
  void keep_stored_value();
  void walk(int warp);
  void record(int warp, const Event& step, const WarpRequest& request,
              std::array<size_t, 32>& taken);
  void count(int warp, const Event& event, const WarpRequest& request);
  void enter(uint32_t block);
  void touch(int warp, const Event& event, const WarpRequest& request);

  std::vector<Thread> threads_;
  WarpRequest copied_from_;  // of the copies whose copy_to comes next
  Profiled profiled_;

  bool sampled_ = false;
  std::unordered_map<uint32_t, FloatOperations> arithmetic_;  // of a basic block
  Recorder* recorder_ = nullptr;
  Stored stored_{};
  std::vector<WarpOperation> partial_;  // of this block; no lanes: recorded
};

/// Is a profile wanted?
bool profiling();
/// Adds what a worker counted of one launch. `address` is the kernel's, or null.
void add_profile(const char* kernel, const void* address, uint32_t launch,
                 const Profiled& profiled);

}  // namespace simulator
