#include "common/simulator/checks.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "common/simulator/block.hpp"
#include "common/simulator/report.hpp"
#include "common/simulator/symbols.hpp"

namespace simulator {
namespace {

// ---- Findings

using Key = std::tuple<std::string, uint32_t, uint32_t>;
constexpr size_t kMostFindings = 10;  // of one launch: more say no more
std::mutex findings_mutex;
std::map<Key, Finding> findings;

uint32_t offset_of(const void* instruction) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(instruction) - program_start());
}

/// "step1.cu:41   acc += As[ty][k] * Bs[k][tx];"
std::string line_of(const Record& record) {
  // The address is the one that the call returns to: one byte earlier is in the call.
  return source_line_with_text(
      reinterpret_cast<const void*>(program_start() + record.instruction - 1));
}

/// "As[53] (of float[16][16], say)": the array's name and the offset in 4-byte elements.
std::string shared_name(uintptr_t address) {
  const uintptr_t base = reinterpret_cast<uintptr_t>(thread_local_base());
  for (const SharedArray& array : shared_arrays()) {
    if (address - base - array.offset >= array.bytes) continue;
    const size_t byte = address - base - array.offset;
    int status = 0;
    char* text = abi::__cxa_demangle(array.symbol.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? text : array.symbol;
    std::free(text);
    name = name.substr(name.rfind(':') + 1);
    return "shared memory " + name + ", byte " + std::to_string(byte) + " of " +
           std::to_string(array.bytes);
  }
  return "";
}

std::string global_name(uintptr_t address) {
  const Allocation allocation = find_allocation(reinterpret_cast<const void*>(address));
  if (allocation.bytes == 0) return "device memory";
  return "device memory, byte " + std::to_string(address - allocation.begin) +
         " of an allocation of " + std::to_string(allocation.bytes);
}

}  // namespace

bool is_new_finding(const char* kind, uint32_t first, uint32_t second) {
  const std::lock_guard lock(findings_mutex);
  const auto found = findings.find({kind, first, second});
  if (found != findings.end()) {
    ++found->second.count;
    return false;
  }
  return findings.size() < kMostFindings;
}

void describe_finding(Finding finding) {
  const std::lock_guard lock(findings_mutex);
  Finding& kept = findings[{finding.kind, finding.first, finding.second}];
  finding.count = kept.count + 1;  // another worker may have found it meanwhile
  kept = std::move(finding);
}

std::pair<cudaError_t, std::string> take_findings() {
  const std::lock_guard lock(findings_mutex);
  cudaError_t error = cudaSuccess;
  std::string text;
  for (const auto& [key, finding] : findings) {
    error = finding.error;
    text += finding.report + "  seen " + std::to_string(finding.count) +
            (finding.count == 1 ? " time\n" : " times\n");
  }
  findings.clear();
  return {error, text};
}

bool checks_are_on() {
  static const bool on = [] {
    const char* wanted = std::getenv("SIMULATOR_CHECKS");
    return wanted == nullptr || std::string_view(wanted) != "off";
  }();
  return on;
}

// ---- The clocks of a block

Checks::Checks(Worker& worker) : worker_(worker) {
  size_t bytes = 0;
  for (const SharedArray& array : shared_arrays())
    bytes = std::max(bytes, array.offset + array.bytes - shared_arrays()[0].offset);
  static_cells_.resize(bytes / 4 + 2);
  dynamic_cells_.resize(kSharedPerBlockOptin / 4);
}

void Checks::begin_block(uint32_t launch, uint32_t block, int threads, size_t) {
  const size_t warps = static_cast<size_t>((threads + 31) / 32);
  if (launch != launch_)
    for (Allocation& recent : recent_) recent = {};  // some may have been freed
  launch_ = launch;
  block_ = block;
  ++run_;
  block_used_atomics_ = false;
  clock_.assign(warps, 1);
  barrier_clock_.assign(warps, 0);
  full_clock_.assign(warps, 0);
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

void Checks::barrier_passed() {
  for (size_t w = 0; w < clock_.size(); ++w) barrier_clock_[w] = ++clock_[w];
}

void Checks::warp_passed(int warp, unsigned lanes, unsigned living) {
  const uint32_t now = ++clock_[static_cast<size_t>(warp)];
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
  const uint32_t thread = static_cast<uint32_t>(worker_.current());
  Record now;
  now.instruction = offset_of(instruction);
  now.block = block_;
  now.time = clock_[thread / 32];
  now.thread = thread;
  return now;
}

/// Did something order that access before the running thread's next one?
bool Checks::ordered(const Record& before, bool is_global) const {
  if (before.epoch != (is_global ? launch_ : run_)) return true;
  if (is_global && before.block != block_) return false;
  const uint32_t me = static_cast<uint32_t>(worker_.current());
  if (before.thread == me) return true;
  const uint32_t warp = before.thread / 32;
  if (before.time < barrier_clock_[warp]) return true;
  if (warp != me / 32) return false;
  return before.time < full_clock_[warp] ||
         before.time < pair_clock_[warp * 1024 + before.thread % 32 * 32 + me % 32];
}

// ---- Accesses

/// Compares an access of some of a cell's bytes with those before it, and remembers it.
void Checks::visit(Cell& cell, uint8_t bytes, AccessKind kind, const Record& now, bool is_global,
                   uintptr_t address) {
  const bool writes = kind != AccessKind::read;
  // Between blocks only atomics can order anything; after one, the simulator gives the benefit of
  // the doubt, so that a last block may read what the others left.
  const auto excused = [&](const Record& before) {
    return is_global && before.block != block_ && block_used_atomics_;
  };
  // Atomics do not race with atomics; nor, in device memory, with a plain read: a loop around
  // atomicCAS begins with one (CUDA C++ Programming Guide, "Atomic Functions").
  const bool atomic = kind == AccessKind::atomic;
  const bool after_atomic = cell.write_is_atomic && (atomic || (is_global && !writes));
  if ((cell.write_bytes & bytes) && !after_atomic && !ordered(cell.write, is_global) &&
      !excused(cell.write))
    report_race(cell.write, true, now, writes, is_global, address);
  if (writes) {
    for (const Record& read : cell.reads)
      if (!(atomic && is_global) && !ordered(read, is_global) && !excused(read))
        report_race(read, false, now, true, is_global, address);
    cell.write = now;
    cell.write_bytes = bytes;
    cell.write_is_atomic = atomic;
    cell.reads[0] = cell.reads[1] = {};
    return;
  }
  // Two readers are kept, of two threads if there are: a later writer is not both of them.
  Record& first = cell.reads[0];
  Record& second = cell.reads[1];
  if (first.epoch != now.epoch || (first.thread == now.thread && first.block == now.block) ||
      ordered(first, is_global))
    first = now;
  else if (second.epoch != now.epoch || ordered(second, is_global))
    second = now;
}

bool Checks::in_allocation(uintptr_t address, size_t bytes) {
  for (const Allocation& recent : recent_)
    if (address - recent.begin < recent.bytes && address - recent.begin + bytes <= recent.bytes)
      return true;
  const Allocation found = find_allocation(reinterpret_cast<const void*>(address));
  if (found.bytes == 0 || address - found.begin + bytes > found.bytes) return false;
  recent_[recent_next_++ % 4] = found;
  return true;
}

void Checks::global_access(uintptr_t address, size_t bytes, AccessKind kind,
                           const void* instruction) {
  Record now = record_now(instruction);
  now.epoch = launch_;
  if (!in_allocation(address, bytes)) {
    report_bounds(now, kind != AccessKind::read,
                  describe_address(reinterpret_cast<const void*>(address)));
    return;
  }
  if (kind == AccessKind::atomic) block_used_atomics_ = true;
  for (uintptr_t at = address; at < address + bytes;) {
    const uintptr_t four = at & ~uintptr_t{3};
    const uintptr_t end = std::min(four + 4, address + bytes);
    const uint8_t mask = static_cast<uint8_t>((0xfu << (at - four)) & (0xfu >> (four + 4 - end)));
    uint8_t& written = global_written(four);
    if (kind != AccessKind::write && (written & mask) != mask) report_unwritten(now, true, at);
    if (kind != AccessKind::read && (written & mask) != mask)
      __atomic_fetch_or(&written, mask, __ATOMIC_RELAXED);
    Cell& cell = global_cell(four);
    while (__atomic_exchange_n(&cell.lock, uint8_t{1}, __ATOMIC_ACQUIRE)) {
    }
    visit(cell, mask, kind, now, true, at);
    __atomic_store_n(&cell.lock, uint8_t{0}, __ATOMIC_RELEASE);
    at = end;
  }
}

void Checks::shared_access(uintptr_t address, size_t bytes, AccessKind kind,
                           const void* instruction) {
  Record now = record_now(instruction);
  now.epoch = run_;
  const uintptr_t dynamic = reinterpret_cast<uintptr_t>(worker_.dynamic_shared());
  const bool is_dynamic = address - dynamic < kSharedPerBlockOptin;
  const uintptr_t begin = is_dynamic ? dynamic : worker_.static_shared();
  std::vector<SharedCell>& cells = is_dynamic ? dynamic_cells_ : static_cells_;
  if (is_dynamic && address - dynamic + bytes > worker_.dynamic_shared_bytes()) {
    report_bounds(now, kind != AccessKind::read,
                  "  byte " + std::to_string(address - dynamic) + " of " +
                      std::to_string(worker_.dynamic_shared_bytes()) +
                      " bytes of dynamic shared memory\n");
    return;
  }
  for (uintptr_t at = address; at < address + bytes;) {
    const uintptr_t four = at & ~uintptr_t{3};
    const uintptr_t end = std::min(four + 4, address + bytes);
    const uint8_t mask = static_cast<uint8_t>((0xfu << (at - four)) & (0xfu >> (four + 4 - end)));
    SharedCell& cell = cells[(four - (begin & ~uintptr_t{3})) / 4];
    const uint8_t written = cell.run == run_ ? cell.written : 0;
    if (kind != AccessKind::write && (written & mask) != mask) report_unwritten(now, false, at);
    if (kind != AccessKind::read) {
      cell.run = run_;
      cell.written = written | mask;
    }
    visit(cell, mask, kind, now, false, at);
    at = end;
  }
}

// ---- Reports

std::string Checks::place(const Record& record, bool is_global) const {
  return worker_.place(record.thread, is_global ? record.block : block_) + "  " + line_of(record) +
         "\n";
}

void Checks::report_race(const Record& before, bool before_writes, const Record& now,
                         bool now_writes, bool is_global, uintptr_t address) {
  const uint32_t first = std::min(before.instruction, now.instruction);
  const uint32_t second = std::max(before.instruction, now.instruction);
  if (!is_new_finding("race", first, second)) return;
  std::string text = "race in " + std::string(worker_.kernel()) + ", " +
                     (is_global ? global_name(address) : shared_name(address)) + "\n";
  text += std::string(before_writes ? "  written by " : "  read by    ") + place(before, is_global);
  text += std::string(now_writes ? "  written by " : "  read by    ") + place(now, is_global);
  if (is_global && before.block != block_)
    text += "  nothing orders two blocks of one launch\n";
  else
    text +=
        "  no __syncthreads() between them (nor, within a warp, a __syncwarp() of both lanes)\n";
  describe_finding({"race", first, second, text, cudaErrorLaunchFailure});
}

void Checks::report_unwritten(const Record& now, bool is_global, uintptr_t address) {
  if (!is_new_finding("init", now.instruction, now.instruction)) return;
  const std::string text = "init in " + std::string(worker_.kernel()) + ", " +
                           (is_global ? global_name(address) : shared_name(address)) +
                           "\n  read by    " + place(now, is_global) + "  nobody wrote it before\n";
  describe_finding({"init", now.instruction, now.instruction, text, cudaErrorLaunchFailure});
}

void Checks::report_bounds(const Record& now, bool is_write, const std::string& where) {
  if (!is_new_finding("bounds", now.instruction, now.instruction)) return;
  const std::string text = "bounds in " + std::string(worker_.kernel()) + "\n" +
                           (is_write ? "  written by " : "  read by    ") + place(now, true) +
                           where;
  describe_finding({"bounds", now.instruction, now.instruction, text, cudaErrorIllegalAddress});
}

}  // namespace simulator
