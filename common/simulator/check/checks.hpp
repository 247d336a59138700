// The checks of every access of a kernel: bounds, races, reads of what nobody wrote.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/findings.hpp"
#include "common/simulator/device/shadow.hpp"
#include "device_functions.h"
#include "simulator/runtime_api.h"

namespace simulator {

class RunningBlock;
struct Operation;

enum class AccessKind : uint8_t {
  read,
  write,
  atomic,
  copy_begins,  // an asynchronous copy to shared memory: from now on nobody may touch it …
  copy_ends,    // … until the thread that asked has waited for it
  // By the TMA unit and by the tensor cores, on their own (checks_async.cpp):
  tile_begins,       // a copy to shared memory, as copy_begins …
  tile_ends,         // … until its bytes arrive at a barrier
  unit_read_begins,  // from now on nobody may write it …
  unit_read_ends     // … until somebody has waited for that
};

/// How far somebody knows of each thread of a block, and of the units that work for it: what they
/// did before these times comes before what he does next. (columns: Checks::column)
struct Knowledge {
  std::vector<uint32_t> times;
  std::map<uint32_t, std::vector<uint32_t>> others;  // of other blocks of the cluster, by number
  void join(const Knowledge& other);
  uint32_t& at(size_t column) {
    if (column >= times.size()) times.resize(column + 1);
    return times[column];
  }
  uint32_t of(size_t column) const { return column < times.size() ? times[column] : 0; }
  uint32_t of(uint32_t block, size_t column) const {
    const auto other = others.find(block);
    return other == others.end() || column >= other->second.size() ? 0 : other->second[column];
  }
};

/// Of shared memory of another block of the cluster.
struct RemoteAccess {
  Record record;
  AccessKind kind;
  uintptr_t address;
  int arrivals;  // of the thread at the cluster's barrier, before it
};

/// A worker's part of the checks: the clocks of the block that it runs, and the cells of its shared
/// memory.
class Checks {
 public:
  explicit Checks(RunningBlock& worker);

  void begin_block(const Operation& launch, uint32_t block, int threads);
  void barrier_passed(Where where);  // by all threads of the block that are still there
  /// The barrier that is about to be passed did not wait for `left` threads: they are gone.
  void barrier_without(int left, const char* barrier, const SourcePlace& line);
  void thread_left(int thread);
  void warp_passed(int warp, unsigned lanes, unsigned living);
  /// The block has come to the declaration of the __shared__ array at this address.
  void declare(uintptr_t array);

  void global_access(uintptr_t address, size_t bytes, AccessKind kind, const void* instruction);
  void shared_access(uintptr_t address, size_t bytes, AccessKind kind, const void* instruction);
  /// An atomic on a __device__ variable, which is no global memory here: it, too, orders blocks.
  void atomic_elsewhere() { block_used_atomics_ = true; }
  /// Of what is neither device nor shared memory, nor the thread's own (RunningBlock::is_private).
  void foreign_access(uintptr_t address, size_t bytes, AccessKind kind, const void* instruction);
  /// The running thread has gone on since its last access, or is about to stop: what it wrote where
  /// another thread had written can be looked at.
  void settle() {
    if (!double_writes_.empty()) compare_double_writes();
  }
  /// A shuffle gave a lane the value of one that does not take part, and `why` it does not.
  void value_of_absent_lane(int thread, int lane, const std::string& why, const SourcePlace& line);

  /// Only `lanes` of a warp have come to an operation that needs all 32.
  void lanes_absent(const char* operation, int warp_begin, unsigned lanes, const SourcePlace& line);

  /// The running thread brought `what` to an operation, and nothing wrote it.
  void unwritten_register(const char* operation, const std::string& what, const void* instruction);

  // ---- What orders some threads only (mbarriers, named barriers), and what others do for the
  // block
  /// Adds all that a thread knows, and did, to what those will know who acquire it.
  void release(int thread, Knowledge& into);
  void acquire(int thread, const Knowledge& from);
  /// What all of these threads know: of a warpgroup that does something together.
  const Knowledge& common_knowledge(int first, int count);
  /// A unit has done something, in the name of which it made accesses; who acquires this knows it.
  void unit_done(uint32_t unit, Knowledge& into);
  /// The running thread's writes may be read through the async proxy.
  void proxy_fence();
  /// An access of shared memory by a unit. One that begins is the running thread's, or that of all
  /// who have the knowledge `observer`; one that ends is `unit`'s, or the running thread's.
  void unit_access(uintptr_t address, size_t bytes, AccessKind kind, uint32_t unit,
                   const Knowledge* observer, const void* instruction);
  /// The running thread touches registers of its own that a product still uses, or the like.
  void report_registers(const void* before, const void* now, const std::string& text);
  /// What was begun here goes on when its block, or its thread, has left.
  void report_leaving(const void* begun, const std::string& text);

  // ---- Of a cluster (checks_cluster.cpp)
  /// The block is one of these of a cluster, and its shared memory belongs to this run.
  void join_cluster(const std::vector<Checks*>& blocks, uint32_t run);
  uint32_t run() const { return run_; }
  void cluster_arrived(int thread);
  void cluster_waited(int thread);
  /// A lane waits for what its warp's others need not wait for, too.
  void lane_waits(int thread);
  /// All lanes of its warp go through what the thread goes through.
  void lane_is_with_others(int thread);
  /// One of a warp has arrived by an instruction that takes all its living lanes together: if it is
  /// the last one, did they come together?
  void lanes_arrived(int first, unsigned living, const void* instruction);
  /// Of shared memory of another block of the cluster.
  void remote_access(RunningBlock& owner, uintptr_t address, size_t bytes, AccessKind kind,
                     const void* instruction);
  /// As release(), to a barrier of another block.
  void release_to(const Checks& there, int thread, Knowledge& into);
  /// All threads of the block have left.
  void block_left();

  /// Was an access at or just before this address reported, so that its crash needs no words?
  bool has_reported(uintptr_t address) const { return address - reported_ < 16; }

 private:
  struct SharedCell : Cell {
    uint32_t run = 0;     // the run of a block that the others are of
    uint32_t reader = 0;  // the instruction of the last unit_read_begins
    uint8_t written = 0;
    uint8_t unit_reads = 0;  // that have begun and not ended
  };
  /// Two threads wrote the same bytes, and nothing orders them. Only after the second write shows
  /// whether both wrote the same; the values are compared at the next thing that its thread does.
  struct DoubleWrite {
    Record before, now;
    uintptr_t address;
    uint32_t value;  // of the four bytes there, before the second write
    uint8_t bytes;   // which of the four both wrote
    bool is_global;
  };
  /// What a thread that has left the kernel took part in last.
  struct Left {
    uint32_t barrier = UINT32_MAX, full = UINT32_MAX;
  };
  DoubleWrite double_write(const Record& before, const Record& now, uintptr_t address,
                           uint8_t bytes, bool is_global) const;
  void compare_double_writes();
  Record record_now(const void* instruction) const;
  bool ordered(const Record& before, bool is_global) const;
  bool ordered_by_cluster(const Record& before) const;
  bool knows_of_other(const Record& before) const;
  /// `owner`: the block whose shared memory it is.
  void access_shared(Checks& owner, uintptr_t address, size_t bytes, AccessKind kind,
                     const Record& by);
  void report_left(const Checks& owner, const RemoteAccess& access, const char* when);
  void report_not_begun(const Checks& owner, const RemoteAccess& access);
  /// The running thread (or those who have the knowledge `observer_`) comes after what the thread
  /// of this record did before this time.
  uint32_t reach(const Record& before) const;
  size_t column(uint32_t thread) const {
    return thread < kUnits ? thread : left_.size() + thread - kUnits;
  }
  /// When all lanes of the warp met last, by its clock.
  uint32_t together(size_t warp) const { return std::max(full_clock_[warp], barrier_clock_[warp]); }
  void merge_knowledge(int warp, unsigned lanes);
  void merge_knowledge();
  void begin_unit_read(const Cell& cell, const Record& now, uintptr_t address);
  void report_unfenced(const Record& before, const Record& now, uintptr_t address);
  void report_overwritten(const SharedCell& cell, const Record& now, AccessKind kind,
                          uintptr_t address);
  std::string cause_by_units(const Record& before, AccessKind before_kind, const Record& now,
                             AccessKind now_kind) const;
  void visit(Cell& cell, uint8_t bytes, AccessKind kind, const Record& now, bool is_global,
             uintptr_t address);
  Cell* shared_byte_cells(bool is_dynamic, size_t four);
  bool in_allocation(uintptr_t address, size_t bytes);
  bool in_shared_array(uintptr_t address, size_t bytes) const;

  void report_race(const Record& before, AccessKind before_kind, const Record& now,
                   AccessKind now_kind, bool is_global, uintptr_t address);
  void note_same_value(const DoubleWrite& both);
  void report_too_early(const Allocation& found, uintptr_t address);
  std::string cause_of_race(const Record& before, AccessKind before_kind, const Record& now,
                            AccessKind now_kind, bool is_global) const;
  void report_unwritten(const Record& now, bool is_global, uintptr_t address);
  void report_bounds(const Record& now, AccessKind kind, uintptr_t address,
                     const std::function<std::string()>& where);
  std::string place(const Record& record, bool is_global) const;
  std::string name(bool is_global, uintptr_t address) const;

  RunningBlock& running_;
  const Operation* operation_ = nullptr;  // the launch
  uint32_t launch_ = 0, run_ = 0, block_ = 0;
  bool block_used_atomics_ = false, threads_were_missing_ = false;
  std::vector<uint32_t> clock_, barrier_clock_, full_clock_;  // of each warp
  std::vector<Left> left_;                                    // of each thread
  std::vector<DoubleWrite> double_writes_;                    // that the running thread is making
  std::vector<uint32_t> pair_clock_;                          // of each warp, 32×32 lanes
  std::vector<bool> pairs_used_;
  // Of each thread: what it acquired, whether that is new to its warp, its last proxy fences.
  struct Acquired {
    Knowledge knows;
    bool is_new = false;
    uint32_t fences[4] = {};  // the last ones, the oldest first
  };
  std::vector<Acquired> acquired_;  // none until one is needed
  Knowledge common_;                // what all threads of the block have acquired
  std::vector<uint32_t> unit_clock_;
  const Knowledge* observer_ = nullptr;
  uint64_t version_ = 0;  // of what any thread knows
  struct OfGroup {
    uint64_t version = 0;
    Knowledge knows;
  };
  std::vector<OfGroup> groups_;  // common_knowledge() of each warpgroup
  Allocation recent_[4];
  int recent_next_ = 0;
  std::vector<SharedCell> static_cells_, dynamic_cells_;
  std::vector<Cell> static_bytes_, dynamic_bytes_;  // four to a cell; none until one is needed
  std::vector<uint32_t> declared_run_;              // of each __shared__ array
  /// When a thread arrived at the cluster's barrier the last two times, by its warp's clock.
  struct AtCluster {
    int arrivals = 0, waits = 0;
    uint32_t last = 0, before_last = 0;
    // How often it waited by itself since its warp was together, at that time; at the arrival.
    uint32_t together = 0;
    int alone = 0, alone_at_arrival = 0;
  };
  std::vector<Checks*> cluster_;  // empty: of none
  std::vector<AtCluster> at_cluster_;
  std::map<std::pair<uint32_t, uint32_t>, RemoteAccess> remote_;  // last ones; by block and thread
  Knowledge when_left_;     // of the threads that have left, of other blocks
  SourcePlace barrier_;     // the last one that the block has passed
  uintptr_t reported_ = 0;  // the address of the last bounds report
};

/// The instruction of an access. Its record has the address that the call returns to: one byte
/// earlier is in the call.
const void* instruction_of(const Record& record);
/// "  read by    ".
const char* done_by(AccessKind kind);

/// "copy_kernel, block (0,0) thread (3,0)  file.cu:7   the line  on stream 1", of an access of
/// global memory by another operation than the one at hand.
std::string place_in_operation(const Record& record);
/// "block (0,1) thread (3,4)  step2.cu:41   C[…] = sum;": the last thread of a kernel that wrote
/// this byte of global memory, and its line; "" where there was none, or nothing was checked.
std::string last_writer(const void* address);
inline constexpr char kCauseOfStreams[] =
    "  likely: cudaEventRecord() and cudaStreamWaitEvent() are missing between them, or the host "
    "must wait\n";

/// Code of the host, in a .cu file, touches this device address: reports it unless it may.
void host_access(const void* address, const void* instruction);

/// False when the environment has SIMULATOR_CHECKS=off, or after switch_checks(false).
bool checks_are_on();
void switch_checks(bool on);  // from the next launch on

}  // namespace simulator
