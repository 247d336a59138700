// The checks of what barriers of some threads order, and of what the TMA unit and the tensor cores
// do for a block on their own.
//
// A thread that arrives at such a barrier leaves there all that it knows of the others, and who has
// waited at it knows that from then on (Lamport, "Time, Clocks, and the Ordering of Events in a
// Distributed System", CACM 1978: here a column for each thread). A unit is like one more thread:
// it writes a tile when the tile's bytes arrive at a barrier, and who waits there knows of it.
#include <algorithm>

#include "common/simulator/block.hpp"
#include "common/simulator/checks.hpp"
#include "common/simulator/cluster.hpp"

namespace simulator {

void Knowledge::join(const Knowledge& other) {
  if (other.times.size() > times.size()) times.resize(other.times.size());
  for (size_t i = 0; i < other.times.size(); ++i) times[i] = std::max(times[i], other.times[i]);
}

/// How far the running thread (or those with the knowledge `observer_`) knows by what it acquired.
uint32_t Checks::reach_by_knowledge(const Record& before) const {
  const Cluster* const cluster = worker_.cluster();
  size_t rank = rank_;
  if (before.block != block_) {
    if (cluster == nullptr) return 0;
    for (rank = 0; rank < cluster->members.size(); ++rank) {
      const Checks* const member = cluster->members[rank]->checks;
      if (member && member->block_ == before.block) break;
    }
    if (rank == cluster->members.size()) return 0;
  }
  const size_t at = column(before.thread, rank);
  if (observer_) return observer_->of(at);
  if (acquired_.empty()) return 0;
  const Acquired& me = acquired_[static_cast<size_t>(worker_.current())];
  const uint32_t known = std::max(common_.of(at), me.knows.of(at));
  if (me.cluster_times == 0) return known;
  return std::max(known, cluster->passed(me.cluster_times)->of(at));
}

void Checks::cluster_passed(int times) {
  if (acquired_.empty()) acquired_.resize(left_.size());
  Acquired& me = acquired_[static_cast<size_t>(worker_.current())];
  me.cluster_times = times;
  me.is_new = true;
  ++version_;
}

void Checks::release(int thread, Knowledge& into) {
  if (acquired_.empty()) acquired_.resize(left_.size());
  const size_t me = static_cast<size_t>(thread), warp = me / 32;
  into.join(acquired_[me].knows);
  into.join(common_);
  if (const Cluster* const cluster = worker_.cluster()) {
    // Other blocks do not know what barriers of this one have ordered.
    if (acquired_[me].cluster_times > 0) into.join(*cluster->passed(acquired_[me].cluster_times));
    for (size_t other = 0; other < left_.size(); ++other) {
      uint32_t& known = into.at(column(static_cast<uint32_t>(other)));
      known = std::max(known, std::min(barrier_clock_[other / 32], left_[other].barrier));
    }
  }
  for (size_t lane = warp * 32; lane < std::min(warp * 32 + 32, left_.size()); ++lane) {
    const uint32_t pair = pair_clock_[warp * 1024 + lane % 32 * 32 + me % 32];
    uint32_t& known = into.at(column(static_cast<uint32_t>(lane)));
    known = std::max({known, std::min(full_clock_[warp], left_[lane].full), pair});
  }
  into.at(column(static_cast<uint32_t>(thread))) = ++clock_[warp];
}

void Checks::acquire(int thread, const Knowledge& from) {
  if (acquired_.empty()) acquired_.resize(left_.size());
  Acquired& me = acquired_[static_cast<size_t>(thread)];
  me.knows.join(from);
  me.is_new = true;
  ++version_;
}

/// Lanes of a warp have met: each knows now what one of them knew.
void Checks::merge_knowledge(int warp, unsigned lanes) {
  ++version_;
  Knowledge all;
  bool is_new = false;
  const auto each = [&](const auto& use) {
    for (size_t lane = 0; lane < 32; ++lane)
      if (lanes >> lane & 1) use(acquired_[static_cast<size_t>(warp) * 32 + lane]);
  };
  each([&](const Acquired& one) { is_new |= one.is_new; });
  if (!is_new) return;
  int times = 0;
  each([&](const Acquired& one) {
    all.join(one.knows);
    times = std::max(times, one.cluster_times);
  });
  each([&](Acquired& one) {
    one.knows.join(all);
    one.cluster_times = times;
    one.is_new = lanes != 0xffffffff;
  });
}

/// All threads of the block have met.
void Checks::merge_knowledge() {
  ++version_;
  int times = 0;
  const auto each = [&](const auto& use) {
    for (size_t thread = 0; thread < acquired_.size(); ++thread)
      if (left_[thread].barrier == UINT32_MAX) use(acquired_[thread]);
  };
  each([&](const Acquired& one) {
    common_.join(one.knows);
    times = std::max(times, one.cluster_times);
  });
  each([&](Acquired& one) {
    one.knows.times.clear();
    one.is_new = false;
    one.cluster_times = times;
  });
}

const Knowledge& Checks::common_knowledge(int first, int count) {
  static const Knowledge nothing;
  if (acquired_.empty()) return nothing;
  const size_t number = static_cast<size_t>(first / count);
  if (groups_.size() <= number) groups_.resize(number + 1);
  OfGroup& group = groups_[number];
  if (group.version == version_ && version_ > 0) return group.knows;
  group.version = version_;
  group.knows = {};
  for (int t = first; t < first + count; ++t) {
    const Acquired& acquired = acquired_[static_cast<size_t>(t)];
    Knowledge one = acquired.knows;
    one.join(common_);
    if (acquired.cluster_times > 0) one.join(*worker_.cluster()->passed(acquired.cluster_times));
    const Cluster* const cluster = worker_.cluster();
    one.at(column(0, cluster ? static_cast<size_t>(cluster->size) : 1));  // as long as any
    for (size_t lane = static_cast<size_t>(t) / 32 * 32;
         lane < static_cast<size_t>(t) / 32 * 32 + 32; ++lane)
      one.times[lane] = std::max(one.times[lane], full_clock_[lane / 32]);
    one.times[static_cast<size_t>(t)] = UINT32_MAX;
    if (t == first)
      group.knows = one;
    else
      for (size_t i = 0; i < one.times.size(); ++i)
        group.knows.times[i] = std::min(group.knows.times[i], one.times[i]);
  }
  return group.knows;
}

void Checks::unit_done(uint32_t unit, Knowledge& into) {
  if (unit_clock_.empty()) unit_clock_.resize(kMaxUnits);
  into.at(column(unit)) = ++unit_clock_[unit - kUnits];
}

void Checks::proxy_fence() {
  if (acquired_.empty()) acquired_.resize(left_.size());
  uint32_t(&fences)[4] = acquired_[static_cast<size_t>(worker_.current())].fences;
  std::rotate(fences, fences + 1, fences + 4);
  fences[3] = ++clock_[static_cast<size_t>(worker_.current() / 32)];
}

void Checks::unit_access(uintptr_t address, size_t bytes, AccessKind kind, uint32_t unit,
                         const Knowledge* observer, const void* instruction, Checks* asker) {
  worker_.progress.access(address);
  settle();
  Record now = (asker ? *asker : *this).record_now(instruction);
  if (unit != 0) {
    if (unit_clock_.empty()) unit_clock_.resize(kMaxUnits);
    now.thread = unit & 2047;
    now.time = unit_clock_[unit - kUnits] & ((1u << 21) - 1);
  }
  observer_ = observer;
  asker_ = asker;
  access_shared(address, bytes, kind, now);
  observer_ = nullptr;
  asker_ = nullptr;
  if (asker) note_remote(now, *asker);
}

/// Another block's thread uses this one's shared memory: does this one run, from before to after?
void Checks::note_remote(const Record& now, const Checks& asker) {
  remote_[{now.block, now.thread}] = {now.time, now.instruction};
  const bool knows_that_it_runs =
      !asker.acquired_.empty() &&
      asker.acquired_[static_cast<size_t>(asker.worker_.current())].cluster_times > 0;
  if (knows_that_it_runs && !has_left_) return;
  report_remote(now.block, now.thread, now.instruction,
                has_left_ ? "  that block has left, and its shared memory with it\n"
                            "  likely: cluster_sync() is missing at the end of the kernel\n"
                          : "  nothing says that the other block runs already\n"
                            "  likely: cluster_sync() is missing before it\n");
}

void Checks::remote_access(uintptr_t address, size_t bytes, AccessKind kind, Checks& asker,
                           const void* instruction) {
  worker_.progress.access(address);
  const Record now = asker.record_now(instruction);
  asker_ = &asker;
  access_shared(address, bytes, kind, now);
  asker_ = nullptr;
  note_remote(now, asker);
}

/// Whoever used the block's shared memory must have told one of its threads so before they left.
void Checks::block_left() {
  has_left_ = true;
  for (const auto& [by, access] : remote_) {
    Record record;
    record.block = by.first;
    record.thread = by.second & 2047;
    bool is_known = false;
    // (Each thread in turn: what it knew when it left.)
    for (int thread = 0; thread < worker_.threads() && !is_known; ++thread)
      is_known = access.time < worker_.as_thread(
                                   thread, [&] { return reach_by_knowledge(record); });
    if (!is_known)
      report_remote(by.first, by.second, access.instruction,
                    "  the block whose memory it is may have left by then\n"
                    "  likely: cluster_sync() is missing at the end of the kernel\n");
  }
}

/// A unit begins to read a cell: was it written by then, and in a way that the unit sees?
void Checks::begin_unit_read(const Cell& cell, const Record& now, uintptr_t address) {
  const Record& write = cell.write;
  if (write.epoch != run_) return;
  if (!ordered(write, false)) {
    report_race(write, AccessKind::write, now, AccessKind::unit_read_begins, false, address);
    return;
  }
  if (write.thread >= kUnits || write.block != block_) return;
  const uint32_t known = reach(write);
  if (!acquired_.empty()) {
    const uint32_t(&fences)[4] = acquired_[write.thread].fences;
    if (fences[0] > write.time) return;
    for (const uint32_t fence : fences)
      if (write.time < fence && fence <= known) return;
  }
  report_unfenced(write, now, address);
}

// ---- Reports

namespace {
const void* instruction_of(uint32_t offset) {
  return reinterpret_cast<const void*>(program_start() + offset - 1);
}
}  // namespace

void Checks::report_unfenced(const Record& before, const Record& now, uintptr_t address) {
  const SimulatorScope scope;
  count_finding({"race", 0, cudaErrorLaunchFailure, block_}, instruction_of(before.instruction),
                instruction_of(now.instruction), [&] {
                  return "race in " + std::string(worker_.kernel()) + ", " + name(false, address) +
                         "\n  written by " + place(before, false) + "  read by    " +
                         place(now, false) +
                         "  which reads through the async proxy: no proxy fence has shown it the "
                         "write\n"
                         "  likely: fence_async_proxy() is missing after the write, in the thread "
                         "that wrote, before the barrier\n";
                });
}

void Checks::report_overwritten(const SharedCell& cell, const Record& now, AccessKind kind,
                                uintptr_t address) {
  const SimulatorScope scope;
  const void* const reader = instruction_of(cell.reader);
  const uint32_t instruction = now.instruction;
  count_finding(
      {"race", 0, cudaErrorLaunchFailure, block_}, reader, instruction_of(instruction), [&] {
        return "race in " + std::string(worker_.kernel()) + ", " + name(false, address) +
               "\n  read by    " + source_line_with_text(reader) + "\n" +
               (kind == AccessKind::tile_begins ? "  copied by  " : "  written by ") +
               place(now, false) +
               "  the product, or the copy, that reads it has not been waited for\n"
               "  likely: wgmma_wait(), or tma_wait_read(), is missing before the place is given "
               "back or written again\n";
      });
}

void Checks::report_remote(uint32_t block, uint32_t thread, uint32_t offset,
                           const std::string& text) {
  const SimulatorScope scope;
  const void* const instruction = instruction_of(offset);
  count_finding({"race", 1, cudaErrorLaunchFailure, block_}, instruction, instruction, [&] {
    return "race in " + std::string(worker_.kernel()) + ", shared memory of " +
           worker_.block_text() + "\n  used by    " + worker_.place(thread, block) + "  " +
           source_line_with_text(instruction) + "\n" + text;
  });
}

std::string Checks::cause_by_units(const Record& before, AccessKind before_kind, const Record&,
                                   AccessKind now_kind) const {
  if (before_kind == AccessKind::tile_begins)
    return "  likely: the copy was not waited for: barrier_wait() at the barrier that its bytes "
           "arrive at is missing, or has the wrong parity\n";
  if (before.thread >= kTmaUnits)
    return now_kind == AccessKind::tile_begins
               ? "  likely: a copy into the same place begins before anyone has waited for the one "
                 "before it\n"
               : "  likely: not every thread that uses the tile has waited for it: barrier_wait() "
                 "at its barrier\n";
  if (before.thread >= kUnits)
    return "  likely: the place was given back before wgmma_wait(), or nothing orders the two: a "
           "barrier for empty stages\n";
  if (now_kind == AccessKind::tile_begins)
    return "  likely: the copy begins before its place is free: barrier_wait() for an empty stage "
           "is missing, or has the wrong parity\n";
  return "  likely: a barrier is missing between what writes the tile and what reads it\n";
}

void Checks::report_registers(const void* before, const void* now, const std::string& text) {
  const SimulatorScope scope;
  const void* const first = static_cast<const char*>(before) - 1;
  const void* const second = static_cast<const char*>(now) - 1;
  count_finding({"race", 0, cudaErrorLaunchFailure, block_}, first, second, [&] {
    return "race in " + std::string(worker_.kernel()) + ", registers of " +
           worker_.place(static_cast<uint32_t>(worker_.current()), block_) + "\n  product  " +
           source_line_with_text(first) + "\n  here     " + source_line_with_text(second) + "\n" +
           text;
  });
}

void Checks::report_leaving(const void* begun, const std::string& text) {
  const SimulatorScope scope;
  const void* const instruction = static_cast<const char*>(begun) - 1;
  count_finding({"race", 0, cudaErrorLaunchFailure, block_}, instruction, instruction, [&] {
    return "race in " + std::string(worker_.kernel()) + ", " + worker_.block_text() +
           "\n  begun by   " + worker_.place(static_cast<uint32_t>(worker_.current()), block_) +
           "  " + source_line_with_text(instruction) + "\n" + text;
  });
}

}  // namespace simulator
