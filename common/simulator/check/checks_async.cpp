// The checks of what barriers of some threads order, and of what the TMA unit and the tensor cores
// do for a block on their own.
//
// A thread that arrives at such a barrier leaves there all that it knows of the others, and who has
// waited at it knows that from then on (Lamport, "Time, Clocks, and the Ordering of Events in a
// Distributed System", CACM 1978: here a column for each thread). A unit is like one more thread:
// it writes a tile when the tile's bytes arrive at a barrier, and who waits there knows of it.
#include <algorithm>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/check/spin_watch.hpp"
#include "common/simulator/device/running_block.hpp"

namespace simulator {

namespace {
void join_times(std::vector<uint32_t>& times, const std::vector<uint32_t>& other) {
  if (other.size() > times.size()) times.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) times[i] = std::max(times[i], other[i]);
}
}  // namespace

void Knowledge::join(const Knowledge& other) {
  join_times(times, other.times);
  for (const auto& [block, of_block] : other.others) join_times(others[block], of_block);
}

void Checks::release(int thread, Knowledge& into) {
  if (acquired_.empty()) acquired_.resize(left_.size());
  const size_t me = static_cast<size_t>(thread), warp = me / 32;
  into.join(acquired_[me].knows);
  into.join(common_);
  for (size_t lane = warp * 32; lane < std::min(warp * 32 + 32, left_.size()); ++lane) {
    const uint32_t pair = pair_clock_[warp * 1024 + lane % 32 * 32 + me % 32];
    uint32_t& known = into.at(column(static_cast<uint32_t>(lane)));
    known = std::max({known, std::min(full_clock_[warp], left_[lane].full), pair});
  }
  into.at(column(static_cast<uint32_t>(thread))) = ++clock_[warp];
}

/// What the thread knows of its own block is for the other one that of another, and the reverse.
void Checks::release_to(const Checks& there, int thread, Knowledge& into) {
  Knowledge known;
  release(thread, known);
  for (size_t t = 0; t < left_.size(); ++t) {
    uint32_t& time = known.at(t);
    time = std::max(time, std::min(barrier_clock_[t / 32], left_[t].barrier));
  }
  join_times(into.others[block_], known.times);
  for (const auto& [block, times] : known.others)
    join_times(block == there.block_ ? into.times : into.others[block], times);
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
  each([&](const Acquired& one) { all.join(one.knows); });
  each([&](Acquired& one) {
    one.knows.join(all);
    one.is_new = lanes != 0xffffffff;
  });
}

/// All threads of the block have met.
void Checks::merge_knowledge() {
  ++version_;
  for (Acquired& one : acquired_) {
    if (one.is_new || !one.knows.times.empty()) common_.join(one.knows);
    one.knows = {};
    one.is_new = false;
  }
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
    Knowledge one = acquired_[static_cast<size_t>(t)].knows;
    one.join(common_);
    one.at(column(kUnits + kMaxUnits) - 1);  // as long as any
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
  uint32_t(&fences)[4] = acquired_[static_cast<size_t>(running_.current())].fences;
  std::rotate(fences, fences + 1, fences + 4);
  fences[3] = ++clock_[static_cast<size_t>(running_.current() / 32)];
}

void Checks::unit_access(uintptr_t address, size_t bytes, AccessKind kind, uint32_t unit,
                         const Knowledge* observer, const void* instruction) {
  running_.progress.access(address);
  settle();
  Record now = record_now(instruction);
  if (unit != 0) {
    if (unit_clock_.empty()) unit_clock_.resize(kMaxUnits);
    now.thread = unit & 2047;
    now.time = unit_clock_[unit - kUnits] & ((1u << 21) - 1);
  }
  observer_ = observer;
  access_shared(*this, address, bytes, kind, now);
  observer_ = nullptr;
}

/// A unit begins to read a cell: was it written by then, and in a way that the unit sees?
void Checks::begin_unit_read(const Cell& cell, const Record& now, uintptr_t address) {
  const Record& write = cell.write;
  if (write.epoch != run_) return;
  if (!ordered(write, false)) {
    report_race(write, AccessKind::write, now, AccessKind::unit_read_begins, false, address);
    return;
  }
  if (write.thread >= kUnits) return;
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
                  return "race in " + std::string(running_.kernel()) + ", " + name(false, address) +
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
        return "race in " + std::string(running_.kernel()) + ", " + name(false, address) +
               "\n  read by    " + source_line_with_text(reader) + "\n" +
               (kind == AccessKind::tile_begins ? "  copied by  " : "  written by ") +
               place(now, false) +
               "  the product, or the copy, that reads it has not been waited for\n"
               "  likely: wgmma_wait(), or tma_wait_read(), is missing before the place is given "
               "back or written again\n";
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
  const void* const second = static_cast<const char*>(running_.with_callers(now)) - 1;
  count_finding({"race", 0, cudaErrorLaunchFailure, block_}, first, second, [&] {
    return "race in " + std::string(running_.kernel()) + ", registers of " +
           running_.place(static_cast<uint32_t>(running_.current()), block_) + "\n  product  " +
           source_line_with_text(first) + "\n  here     " + source_line_with_text(second) + "\n" +
           text;
  });
}

void Checks::report_leaving(const void* begun, const std::string& text) {
  const SimulatorScope scope;
  const void* const instruction = static_cast<const char*>(begun) - 1;
  count_finding({"race", 0, cudaErrorLaunchFailure, block_}, instruction, instruction, [&] {
    return "race in " + std::string(running_.kernel()) + ", " + running_.block_text() +
           "\n  begun by   " + running_.place(static_cast<uint32_t>(running_.current()), block_) +
           "  " + source_line_with_text(instruction) + "\n" + text;
  });
}

}  // namespace simulator
