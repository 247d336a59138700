#include "common/simulator/check/checks.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "common/simulator/check/spin_watch.hpp"
#include "common/simulator/device/heap.hpp"
#include "common/simulator/device/names.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/device/running_block.hpp"
#include "common/simulator/device/stream_order.hpp"
#include "common/simulator/world/pages.hpp"

namespace simulator {
namespace {

constexpr uint32_t kAlways = UINT32_MAX;  // as a declared_run_: nobody will declare this array

std::string number_of_line(const SourcePlace& place) {
  return "line " + std::to_string(place.line);
}

/// The four bytes that this address is among, the first of them lowest.
uint32_t four_bytes_at(uintptr_t address) {
  uint32_t value = 0;
  for (uintptr_t byte = 0; byte < 4; ++byte)
    value |= uint32_t{*reinterpret_cast<const unsigned char*>((address & ~uintptr_t{3}) + byte)}
             << 8 * byte;
  return value;
}

bool writes(AccessKind kind) {
  return kind == AccessKind::write || kind == AccessKind::atomic ||
         kind == AccessKind::copy_begins || kind == AccessKind::tile_begins;
}

AccessKind pending_kind(const Cell& cell) {
  return cell.copy_pending == 2 ? AccessKind::tile_begins : AccessKind::copy_begins;
}

std::atomic<bool>& switched_on() {
  static std::atomic<bool> on = [] {
    const char* wanted = std::getenv("SIMULATOR_CHECKS");
    return wanted == nullptr || std::string_view(wanted) != "off";
  }();
  return on;
}

}  // namespace

const void* instruction_of(const Record& record) {
  return reinterpret_cast<const void*>(program_start() + record.instruction - 1);
}

bool checks_are_on() {
  return switched_on();
}
void switch_checks(bool on) {
  switched_on() = on;
}

// ---- The clocks of a block

Checks::Checks(RunningBlock& worker) : running_(worker) {
  static_cells_.resize(shared_owners().size() / 4 + 2);
  dynamic_cells_.resize(kSharedPerBlockOptin / 4);
  for (const SharedArray& array : shared_arrays())
    declared_run_.push_back(array.declares_itself ? 0 : kAlways);
}

void Checks::begin_block(const Operation& launch, uint32_t block, int threads) {
  const size_t warps = static_cast<size_t>((threads + 31) / 32);
  if (launch.number != launch_)
    for (Allocation& recent : recent_) recent = {};  // some may have been freed
  operation_ = &launch;
  launch_ = launch.number;
  block_ = block;
  ++run_;
  block_used_atomics_ = threads_were_missing_ = false;
  barrier_ = {};
  clock_.assign(warps, 1);
  barrier_clock_.assign(warps, 0);
  full_clock_.assign(warps, 0);
  left_.assign(static_cast<size_t>(threads), {});
  cluster_.clear();
  double_writes_.clear();
  acquired_.clear();
  groups_.clear();
  common_ = {};
  unit_clock_.clear();
  if (pairs_used_.size() < warps) {
    pairs_used_.assign(warps, false);
    pair_clock_.assign(warps * 32 * 32, 0);
  }
  for (size_t w = 0; w < warps; ++w) {
    if (!pairs_used_[w]) continue;
    std::fill_n(pair_clock_.begin() + static_cast<long>(w * 1024), 1024, 0u);
    pairs_used_[w] = false;
  }
}

void Checks::barrier_passed(Where where) {
  for (size_t w = 0; w < clock_.size(); ++w) barrier_clock_[w] = ++clock_[w];
  if (!acquired_.empty()) merge_knowledge();
  barrier_ = place_of(where);
}

void Checks::barrier_without(int left, const char* barrier, const SourcePlace& line) {
  threads_were_missing_ = true;
  count_finding({"note", 0, cudaSuccess, block_}, line, [&] {
    return "note in " + std::string(running_.kernel()) + ", " + running_.block_text() + "\n  " +
           std::to_string(left) + (left == 1 ? " thread" : " threads") +
           " had left the kernel when the others met at " + barrier + "  " + line_with_text(line) +
           "\n  which waits for the threads that are still there; before sm_70 a GPU may wait for "
           "ever\n"
           "  likely: a return stands before the barrier; let every thread come to it, and put a "
           "test "
           "around the work\n";
  });
}

void Checks::thread_left(int thread) {
  settle();
  const size_t warp = static_cast<size_t>(thread / 32);
  left_[static_cast<size_t>(thread)] = {barrier_clock_[warp], full_clock_[warp]};
  if (acquired_.empty()) return;
  Knowledge& knows = acquired_[static_cast<size_t>(thread)].knows;
  if (!cluster_.empty()) when_left_.join(knows);
  knows = {};
}

void Checks::warp_passed(int warp, unsigned lanes, unsigned living) {
  const uint32_t now = ++clock_[static_cast<size_t>(warp)];
  if (!acquired_.empty()) merge_knowledge(warp, lanes);
  if (lanes == living) {
    full_clock_[static_cast<size_t>(warp)] = now;
    return;
  }
  pairs_used_[static_cast<size_t>(warp)] = true;
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j)
      if ((lanes >> i & 1) && (lanes >> j & 1))
        pair_clock_[static_cast<size_t>(warp * 1024 + i * 32 + j)] = now;
}

Record Checks::record_now(const void* instruction) const {
  const uint32_t thread = static_cast<uint32_t>(running_.current());
  Record now;
  now.instruction = static_cast<uint32_t>(
      reinterpret_cast<uintptr_t>(running_.with_callers(instruction)) - program_start());
  now.block = block_;
  now.time = clock_[thread / 32];
  now.thread = thread;
  return now;
}

/// Did something order that access before the running thread's next one?
bool Checks::ordered(const Record& before, bool is_global) const {
  if (before.epoch != (is_global ? launch_ : run_))
    return !is_global || before.epoch == 0 || is_ordered(before.epoch, *operation_);
  if (!cluster_.empty() && !observer_ && ordered_by_cluster(before)) return true;
  if (before.block != block_) return !cluster_.empty() && knows_of_other(before);
  return before.time < reach(before);
}

uint32_t Checks::reach(const Record& before) const {
  if (before.thread >= kUnits) {
    const size_t unit = column(before.thread);
    if (observer_) return observer_->of(unit);
    if (acquired_.empty()) return 0;
    return std::max(common_.of(unit),
                    acquired_[static_cast<size_t>(running_.current())].knows.of(unit));
  }
  const uint32_t warp = before.thread / 32;
  const Left& left =
      left_[before.thread];  // of what came after it left, nothing orders its accesses
  uint32_t known = std::min(barrier_clock_[warp], left.barrier);
  if (observer_) return std::max(known, observer_->of(before.thread));
  const uint32_t me = static_cast<uint32_t>(running_.current());
  if (before.thread == me) return UINT32_MAX;
  if (!acquired_.empty())
    known = std::max({known, common_.of(before.thread), acquired_[me].knows.of(before.thread)});
  if (warp != me / 32) return known;
  return std::max({known, std::min(full_clock_[warp], left.full),
                   pair_clock_[warp * 1024 + before.thread % 32 * 32 + me % 32]});
}

// ---- Accesses

/// Compares an access of a cell's bytes with those before it, and remembers it.
void Checks::visit(Cell& cell, uint8_t bytes, AccessKind kind, const Record& now, bool is_global,
                   uintptr_t address) {
  // Since a thread's last read of it nobody wrote the cell, or that read would be forgotten.
  if (kind == AccessKind::read && cell.copy_pending == 0) {
    Record& first = cell.reads[0];
    if (first.epoch == now.epoch && first.thread == now.thread && first.block == now.block) {
      first = now;
      return;
    }
  }
  const bool is_write = writes(kind);
  const bool pending = cell.copy_pending != 0 && cell.write.epoch == now.epoch;
  if (!pending) cell.copy_pending = 0;
  if (kind == AccessKind::copy_ends) {  // its beginning was the write that others could race with
    if (pending && cell.copy_pending == 1 && cell.write.thread == now.thread) {
      cell.write.time = now.time;
      cell.copy_pending = 0;
    }
    return;
  }
  if (kind == AccessKind::tile_ends) {
    if (pending && cell.copy_pending == 2) {
      cell.write.block = now.block;  // which may not be the one that began it
      cell.write.thread = now.thread;
      cell.write.time = now.time;
      cell.copy_pending = 0;
    }
    return;
  }
  if (kind == AccessKind::unit_read_ends) {
    const Record& first = cell.reads[0];
    cell.reads[first.epoch == now.epoch && first.thread != now.thread] = now;
    return;
  }
  if (pending) {
    report_race(cell.write, pending_kind(cell), now, kind, is_global, address);
    return;
  }
  if (kind == AccessKind::unit_read_begins) return begin_unit_read(cell, now, address);
  // Between blocks only atomics can order anything; after one, the simulator gives the benefit of
  // the doubt, so that a last block may read what the others left.
  const auto excused = [&](const Record& before) {
    return is_global && before.epoch == launch_ && before.block != block_ && block_used_atomics_;
  };
  // Atomics do not race with atomics; nor, in global memory, with a plain read: a loop around
  // atomicCAS begins with one (CUDA C++ Programming Guide, "Atomic Functions").
  const bool atomic = kind == AccessKind::atomic;
  const bool after_atomic = cell.write_is_atomic && (atomic || (is_global && !is_write));
  if (!after_atomic && !ordered(cell.write, is_global) && !excused(cell.write)) {
    if (kind == AccessKind::write && !cell.write_is_atomic)
      double_writes_.push_back(double_write(cell.write, now, address, bytes, is_global));
    else
      report_race(cell.write, cell.write_is_atomic ? AccessKind::atomic : AccessKind::write, now,
                  kind, is_global, address);
  }
  if (is_write) {
    for (const Record& read : cell.reads)
      if (!(atomic && is_global) && !ordered(read, is_global) && !excused(read))
        report_race(read, AccessKind::read, now, kind, is_global, address);
    cell.write = now;
    cell.write_is_atomic = atomic;
    cell.copy_pending = kind == AccessKind::copy_begins   ? 1
                        : kind == AccessKind::tile_begins ? 2
                                                          : 0;
    cell.reads[0] = cell.reads[1] = {};
    return;
  }
  // Two readers are kept, of two threads if there are: a later writer is not both of them.
  Record& first = cell.reads[0];
  Record& second = cell.reads[1];
  const bool is_mine =
      first.epoch == now.epoch && first.thread == now.thread && first.block == now.block;
  if (is_mine || ordered(first, is_global))
    first = now;
  else if (ordered(second, is_global))
    second = now;
}

Checks::DoubleWrite Checks::double_write(const Record& before, const Record& now, uintptr_t address,
                                         uint8_t bytes, bool is_global) const {
  // The block that wrote before may run on another core, which says so just before it writes.
  if (is_global && before.block != block_) running_.progress.wait_for_others(address);
  return {before, now, address, four_bytes_at(address), bytes, is_global};
}

void Checks::compare_double_writes() {
  for (const DoubleWrite& both : double_writes_) {
    const uint32_t differ = four_bytes_at(both.address) ^ both.value;
    bool same = true;
    for (int byte = 0; byte < 4; ++byte)
      if (both.bytes >> byte & 1) same &= (differ >> 8 * byte & 0xff) == 0;
    if (same)
      note_same_value(both);
    else
      report_race(both.before, AccessKind::write, both.now, AccessKind::write, both.is_global,
                  both.address);
  }
  double_writes_.clear();
}

bool Checks::in_allocation(uintptr_t address, size_t bytes) {
  for (const Allocation& recent : recent_)
    if (address - recent.begin < recent.bytes && address - recent.begin + bytes <= recent.bytes)
      return true;
  const SimulatorScope scope;
  const Allocation found = find_allocation(reinterpret_cast<const void*>(address));
  if (found.bytes == 0 || address - found.begin + bytes > found.bytes) return false;
  if (found.made_by != 0 && !is_ordered(found.made_by, *operation_))
    report_too_early(found, address);
  // What a kernel allocates, a kernel may free at any time.
  if (!is_heap_address(reinterpret_cast<const void*>(address))) recent_[recent_next_++ % 4] = found;
  return true;
}

void Checks::global_access(uintptr_t address, size_t bytes, AccessKind kind,
                           const void* instruction) {
  running_.progress.global_access(address);
  if (heed) running_.heed_watch(instruction);
  settle();
  Record now = record_now(instruction);
  now.epoch = launch_;
  if (!in_allocation(address, bytes)) {
    const void* pointer = reinterpret_cast<const void*>(address);
    report_bounds(now, kind, address, [&] { return describe_address(pointer); });
    return;
  }
  if (kind == AccessKind::atomic) block_used_atomics_ = true;
  for (uintptr_t at = address; at < address + bytes;) {
    const uintptr_t four = at & ~uintptr_t{3};
    const uintptr_t end = std::min(four + 4, address + bytes);
    const uint8_t mask = bytes_of_four(four, at, end);
    uint8_t& written = global_written(four);
    if (kind != AccessKind::write && (written & mask) != mask) report_unwritten(now, true, at);
    if (kind != AccessKind::read && (written & mask) != mask)
      __atomic_fetch_or(&written, mask, __ATOMIC_RELAXED);
    Cell& cell_of_four = global_cell(four);
    {
      const CellLock lock(cell_of_four);
      const auto look = [&](Cell& cell, uint8_t of) { visit(cell, of, kind, now, true, at); };
      const auto byte_cells = [&] { return global_byte_cells(four); };
      visit_cells(cell_of_four, byte_cells, mask, writes(kind), look);
    }
    at = end;
  }
}

void Checks::declare(uintptr_t array) {
  const uintptr_t offset = array - running_.static_shared();
  const int16_t owner = offset < shared_owners().size() ? shared_owners()[offset] : kOtherVariable;
  if (owner >= 0) declared_run_[static_cast<size_t>(owner)] = run_;
}

Cell* Checks::shared_byte_cells(bool is_dynamic, size_t four) {
  std::vector<Cell>& bytes = is_dynamic ? dynamic_bytes_ : static_bytes_;
  if (bytes.empty()) bytes.resize(4 * (is_dynamic ? dynamic_cells_ : static_cells_).size());
  return &bytes[4 * four];
}

/// Of static shared memory: is this inside one array, whose declaration the block has come to?
bool Checks::in_shared_array(uintptr_t address, size_t bytes) const {
  const int16_t owner = shared_owners()[address - running_.static_shared()];
  if (owner < 0) return false;
  const auto index = static_cast<size_t>(owner);
  const SharedArray& array = shared_arrays()[index];
  const uintptr_t begin = running_.static_shared() + array.offset - shared_begin();
  return address - begin + bytes <= array.bytes &&
         (declared_run_[index] == run_ || declared_run_[index] == kAlways);
}

void Checks::shared_access(uintptr_t address, size_t bytes, AccessKind kind,
                           const void* instruction) {
  running_.progress.access(address);
  if (heed) running_.heed_watch(instruction);
  settle();
  access_shared(*this, address, bytes, kind, record_now(instruction));
}

void Checks::access_shared(Checks& owner, uintptr_t address, size_t bytes, AccessKind kind,
                           const Record& by) {
  Record now = by;
  now.epoch = run_;
  // Of another block's shared memory: where the same lies in this one's, and how far away.
  const uintptr_t there = address;
  if (&owner != this) address = running_.own_address(address, owner.running_);
  const uintptr_t away = there - address;
  const uintptr_t dynamic = reinterpret_cast<uintptr_t>(running_.dynamic_shared());
  const bool is_dynamic = address - dynamic < kSharedPerBlockOptin;
  const uintptr_t begin = is_dynamic ? dynamic : running_.static_shared();
  std::vector<SharedCell>& cells = is_dynamic ? owner.dynamic_cells_ : owner.static_cells_;
  if (is_dynamic && address - dynamic + bytes > running_.dynamic_shared_bytes()) {
    report_bounds(now, kind, address, [&] {
      return "  " + name(false, address) + ": byte " + std::to_string(address - dynamic) + " of " +
             std::to_string(running_.dynamic_shared_bytes()) +
             " bytes of dynamic shared memory\n"
             "  likely: an index is too large, or the launch asks for too little shared memory\n";
    });
    return;
  }
  if (!is_dynamic && !in_shared_array(address, bytes) && !owner.in_shared_array(address, bytes)) {
    if (shared_owners()[address - begin] == kOtherVariable) return;
    report_bounds(now, kind, address, [&] { return running_.near_shared_array(address); });
    return;
  }
  for (uintptr_t at = address; at < address + bytes;) {
    const uintptr_t four = at & ~uintptr_t{3};
    const uintptr_t end = std::min(four + 4, address + bytes);
    const uint8_t mask = bytes_of_four(four, at, end);
    const size_t number = (four - (begin & ~uintptr_t{3})) / 4;
    SharedCell& cell = cells[number];
    if (cell.run != run_) {
      cell.run = run_;
      cell.written = cell.unit_reads = 0;
    }
    const bool reads = kind == AccessKind::read || kind == AccessKind::atomic ||
                       kind == AccessKind::unit_read_begins;
    if (reads && (cell.written & mask) != mask) report_unwritten(now, false, at + away);
    if (writes(kind)) {
      cell.written |= mask;
      if (cell.unit_reads > 0) report_overwritten(cell, now, kind, at + away);
    } else if (kind == AccessKind::unit_read_begins) {
      ++cell.unit_reads;
      cell.reader = now.instruction;
    } else if (kind == AccessKind::unit_read_ends && cell.unit_reads > 0) {
      --cell.unit_reads;
    }
    const auto look = [&](Cell& part, uint8_t of) { visit(part, of, kind, now, false, at + away); };
    const auto byte_cells = [&] { return owner.shared_byte_cells(is_dynamic, number); };
    visit_cells(cell, byte_cells, mask, writes(kind), look);
    at = end;
  }
}

void Checks::foreign_access(uintptr_t address, size_t bytes, AccessKind kind,
                            const void* instruction) {
  const SimulatorScope scope;
  const auto found = [&](const char* text) {
    report_bounds(record_now(instruction), kind, address, [=] { return std::string(text); });
  };
  const void* pointer = reinterpret_cast<const void*>(address);
  if (running_.is_stack(address))
    return found(
        "  a local variable of another thread\n"
        "  likely: a pointer to a local variable was handed on; only its own thread may use it\n");
  if (running_.is_before_dynamic_shared(address))
    return found(
        "  just before the start of dynamic shared memory\n  likely: an index is negative\n");
  if (running_.is_argument(address) || is_pinned(pointer)) return;
  // What nobody may touch at all is told when it crashes.
  if (!is_mapped(address) || !is_mapped(address + bytes - 1)) return;
  found(
      "  host memory in a kernel\n"
      "  likely: a pointer to a variable or an array of the host was passed; a kernel needs global "
      "memory (cudaMalloc) and a copy (cudaMemcpy)\n");
}

// ---- Reports

std::string Checks::place(const Record& record, bool is_global) const {
  if (is_global && record.epoch != launch_) return place_in_operation(record);
  if (record.thread >= kUnits)
    return (record.thread < kTmaUnits
                ? "the tensor cores, for warpgroup " + std::to_string(record.thread - kUnits)
                : "the TMA unit") +
           std::string("  ") + source_line_with_text(instruction_of(record)) + "\n";
  return running_.place(record.thread, record.block) + "  " +
         source_line_with_text(instruction_of(record)) + "\n";
}

std::string Checks::name(bool is_global, uintptr_t address) const {
  return is_global ? device_name(address) : running_.shared_name(address);
}

const char* done_by(AccessKind kind) {
  switch (kind) {
    case AccessKind::read:
    case AccessKind::unit_read_begins:
    case AccessKind::unit_read_ends:
      return "  read by    ";
    case AccessKind::write:
      return "  written by ";
    case AccessKind::copy_begins:
    case AccessKind::copy_ends:
    case AccessKind::tile_begins:
    case AccessKind::tile_ends:
      return "  copied by  ";
    default:
      return "  atomic by  ";
  }
}

namespace {

/// Arrays of one report are told apart by this. (A block's shared memory has another address on
/// every worker.)
uintptr_t array_at(bool is_global, uintptr_t address, const RunningBlock& worker) {
  if (is_global) return find_allocation(reinterpret_cast<const void*>(address)).begin;
  if (const RunningBlock* owner = worker.owner_in_cluster(address))
    address = worker.own_address(address, *owner);
  const uintptr_t offset = address - worker.static_shared();
  if (offset >= shared_owners().size()) return 0;
  return static_cast<uintptr_t>(shared_owners()[offset]) + 1;
}

}  // namespace

void Checks::report_race(const Record& before, AccessKind before_kind, const Record& now,
                         AccessKind now_kind, bool is_global, uintptr_t address) {
  const SimulatorScope scope;
  const Finding finding{"race", array_at(is_global, address, running_), cudaErrorLaunchFailure,
                        block_};
  count_finding(finding, instruction_of(before), instruction_of(now), [&] {
    const bool is_own = is_global || running_.owner_in_cluster(address) == nullptr;
    return "race in " + std::string(running_.kernel()) + ", " + name(is_global, address) +
           (is_own && !is_global && before.block != now.block ? " of " + running_.block_text()
                                                              : "") +
           "\n" + done_by(before_kind) + place(before, is_global) + done_by(now_kind) +
           place(now, is_global) + cause_of_race(before, before_kind, now, now_kind, is_global);
  });
}

std::string Checks::cause_of_race(const Record& before, AccessKind before_kind, const Record& now,
                                  AccessKind now_kind, bool is_global) const {
  if (before.thread >= kUnits || before_kind == AccessKind::tile_begins ||
      now_kind == AccessKind::tile_begins || now_kind == AccessKind::unit_read_begins)
    return cause_by_units(before, before_kind, now, now_kind);
  if (before_kind == AccessKind::copy_begins)
    return "  likely: the asynchronous copy was not waited for: __pipeline_wait_prior(), then "
           "__syncthreads()\n";
  if (is_global && before.epoch != launch_)
    return "  this launch is on " + operation_->stream + ", and nothing orders the two\n" +
           kCauseOfStreams;
  const bool both_write = before_kind != AccessKind::read && now_kind != AccessKind::read;
  const bool one_atomic = (before_kind == AccessKind::atomic) != (now_kind == AccessKind::atomic);
  if (is_global && before.block != block_) {
    const std::string text = "  nothing orders two blocks of one launch\n  likely: ";
    if (one_atomic) return text + "only one of the two lines uses an atomic function\n";
    if (both_write)
      return text +
             "two blocks write the same element: check the index (blockIdx), or use an "
             "atomic function\n";
    return text +
           "a block reads what another one writes: use two launches, or another array for "
           "the result\n";
  }
  if (!is_global && before.block != now.block)
    return one_atomic ? "  likely: only one of the two lines uses an atomic function, and no "
                        "barrier of the cluster stands between them\n"
                      : "  likely: a barrier of the cluster is missing between these lines; "
                        "__syncthreads() orders the threads of one block only\n";
  const SourcePlace a = source_place(instruction_of(before));
  const SourcePlace b = source_place(instruction_of(now));
  const bool same_file = a.path == b.path && a.line > 0;
  const bool same_line = same_file && a.line == b.line;
  const bool same_warp = before.thread / 32 == now.thread / 32;
  const std::string barrier = same_warp
                                  ? "a __syncthreads() (within a warp, a __syncwarp()) is missing "
                                  : "a __syncthreads() is missing ";
  if (one_atomic)
    return "  likely: only one of the two lines uses an atomic function, and no __syncthreads() "
           "stands "
           "between them\n";
  if (same_line && both_write)
    return "  likely: two threads write the same element: check the index, or use an atomic "
           "function\n";
  if (same_line)
    return "  likely: a thread reads what another one writes in the same line: read, "
           "__syncthreads(), then write\n";
  const SourcePlace& low = a.line < b.line ? a : b;
  const SourcePlace& high = a.line < b.line ? b : a;
  // Both came after the last barrier; if that stands between them, a loop went round.
  if (same_file && barrier_.path == a.path && low.line < barrier_.line && barrier_.line < high.line)
    return "  likely: " + barrier + "after " + number_of_line(high) +
           ", before the loop comes back to " + number_of_line(low) + "\n";
  return "  likely: " + barrier + "between these lines\n";
}

/// Memory of cudaMallocAsync is there when its stream has come to it.
void Checks::report_too_early(const Allocation& found, uintptr_t address) {
  const std::string allocated = place_in_operation({.epoch = found.made_by});
  count_finding({"race", found.begin, cudaErrorLaunchFailure, block_}, SourcePlace{}, [&] {
    return "race in " + std::string(running_.kernel()) + ", " + name(true, address) +
           "\n  allocated by " + allocated + "  this launch is on " + operation_->stream +
           ", and nothing orders the two\n" + kCauseOfStreams;
  });
}

void Checks::note_same_value(const DoubleWrite& both) {
  const SimulatorScope scope;
  const Finding finding{kSameValue, array_at(both.is_global, both.address, running_), cudaSuccess,
                        block_};
  count_finding(finding, instruction_of(both.before), instruction_of(both.now), [&] {
    return "note in " + std::string(running_.kernel()) + ", " + name(both.is_global, both.address) +
           "\n" + done_by(AccessKind::write) + place(both.before, both.is_global) +
           done_by(AccessKind::write) + place(both.now, both.is_global) +
           "  both wrote the same value, so the result is right whoever comes last\n"
           "  likely: one thread is enough: if (threadIdx.x == 0), or if (lane == 0)\n";
  });
}

void Checks::report_unwritten(const Record& now, bool is_global, uintptr_t address) {
  const SimulatorScope scope;
  const Finding finding{"init", array_at(is_global, address, running_), cudaErrorLaunchFailure,
                        block_};
  const void* instruction = instruction_of(now);
  count_finding(finding, instruction, instruction, [&] {
    return "init in " + std::string(running_.kernel()) + ", " + name(is_global, address) +
           "\n  read by    " + place(now, is_global) + "  nobody wrote it before\n" +
           (is_global ? "  likely: an input was not copied in full, or an earlier kernel left "
                        "elements out\n"
            : threads_were_missing_
                ? "  likely: threads that should have filled it had left the kernel at the barrier "
                  "before: a "
                  "return stands too early\n"
                : "  likely: what fills the array leaves elements out, a barrier is missing "
                  "before this line, or its index is wrong\n");
  });
}

void Checks::report_bounds(const Record& now, AccessKind kind, uintptr_t address,
                           const std::function<std::string()>& where) {
  const SimulatorScope scope;
  reported_ = address;
  const void* instruction = instruction_of(now);
  count_finding({"bounds", 0, cudaErrorIllegalAddress, block_}, instruction, instruction, [&] {
    return "bounds in " + std::string(running_.kernel()) + "\n" + done_by(kind) +
           running_.place(now.thread, block_) + "  " + source_line_with_text(instruction) + "\n" +
           where();
  });
}

void Checks::value_of_absent_lane(int thread, int lane, const std::string& why,
                                  const SourcePlace& line) {
  count_finding({"barrier", 0, cudaErrorLaunchFailure, block_}, line, [&] {
    return "barrier in " + std::string(running_.kernel()) + "\n  shuffle by " +
           running_.place(static_cast<uint32_t>(thread), block_) + "  " + line_with_text(line) +
           "\n  takes the value of lane " + std::to_string(lane) +
           ", which does not take part: " + why +
           "\n  likely: some lanes leave or branch off before the shuffle, or the block is no "
           "multiple of 32 threads\n";
  });
}

void Checks::lanes_absent(const char* operation, int warp_begin, unsigned lanes,
                          const SourcePlace& line) {
  count_finding({"barrier", 0, cudaErrorLaunchFailure, block_}, line, [&] {
    std::string absent;
    for (int lane = 0; lane < 32; ++lane)
      if (!(lanes >> lane & 1)) absent += (absent.empty() ? "" : ", ") + std::to_string(lane);
    return "barrier in " + std::string(running_.kernel()) + ", " + running_.block_text() + "\n  " +
           operation + "  " + line_with_text(line) + "\n  missing of warp " +
           std::to_string(warp_begin / 32) + ": lanes " + absent +
           ", which have left the kernel or which the block has not\n"
           "  likely: a return stands before it, or the block is no multiple of 32 threads; all 32 "
           "lanes must come, and what is outside of the matrix is zero\n";
  });
}

void Checks::unwritten_register(const char* operation, const std::string& what,
                                const void* instruction) {
  const SimulatorScope scope;
  const void* const at = static_cast<const char*>(running_.with_callers(instruction)) - 1;
  count_finding({"init", 0, cudaErrorLaunchFailure, block_}, at, at, [&] {
    return "init in " + std::string(running_.kernel()) + ", a register\n  read by    " +
           running_.place(static_cast<uint32_t>(running_.current()), block_) + "  " +
           source_line_with_text(at) + "\n  nothing wrote " + what + " of " + operation +
           "\n  likely: the loop that fills the fragment leaves it out, or C was not set to zero\n";
  });
}

}  // namespace simulator
