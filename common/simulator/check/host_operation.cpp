// Accesses of copies, fills and libraries, beside those of kernels in other streams.
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/device/device.hpp"
#include "common/simulator/device/names.hpp"
#include "common/simulator/device/plan.hpp"
#include "common/simulator/device/report.hpp"
#include "common/simulator/device/shadow.hpp"
#include "common/simulator/device/stream_order.hpp"

namespace simulator {
namespace {

struct Conflict {
  Record before;
  const char* done;  // "written" or "read"
  uintptr_t address = 0;
};

void report(const Operation& now, const Conflict& conflict, bool writes) {
  publish("race in " + now.what + ", " + device_name(conflict.address) + "\n  " + conflict.done +
              " by " + place_in_operation(conflict.before) + "  " + (writes ? "written" : "read") +
              " by " + now.what + " on " + now.stream + "\n  nothing orders the two streams\n" +
              kCauseOfStreams,
          cudaErrorLaunchFailure);
  set_kernel_fault(cudaErrorLaunchFailure);
}

void access(const Operation& now, const void* memory, size_t bytes, bool writes) {
  if (!has_streams() || !checks_are_on() || !is_device_address(memory) || is_planning()) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  const Record mine{.epoch = now.number};
  Conflict conflict;
  for (uintptr_t four = begin & ~uintptr_t{3}; four < end; four += 4) {
    const uint8_t mask = bytes_of_four(four, begin, end);
    Cell& cell_of_four = global_cell(four);
    const CellLock lock(cell_of_four);
    const auto visit = [&](Cell& cell, uint8_t of) {
      const auto look = [&](const Record& before, const char* done) {
        if (before.epoch != 0 && conflict.address == 0 && !is_ordered(before.epoch, now))
          conflict = {before, done, four + static_cast<uintptr_t>(std::countr_zero(of))};
      };
      look(cell.write, "written");
      if (writes) {
        for (const Record& read : cell.reads) look(read, "read   ");
        cell.write = mine;
        cell.write_is_atomic = cell.copy_pending = 0;
        cell.reads[0] = cell.reads[1] = {};
      } else {
        cell.reads[is_ordered(cell.reads[0].epoch, now) ? 0 : 1] = mine;
      }
    };
    visit_cells(
        cell_of_four, [&] { return global_byte_cells(four); }, mask, writes, visit);
  }
  if (conflict.address != 0) report(now, conflict, writes);
}

std::string place_in_launch(const Operation& launch, const Record& record) {
  return place_in_grid(launch.grid, launch.block, record.block, record.thread) + "  " +
         source_line_with_text(instruction_of(record));
}

}  // namespace

std::string place_in_operation(const Record& record) {
  const Operation operation = find_operation(record.epoch);
  std::string text = operation.what;
  if (record.instruction != 0) text += ", " + place_in_launch(operation, record);
  return text + "  on " + operation.stream + "\n";
}

std::string last_writer(const void* address) {
  if (!checks_are_on() || !is_device_address(address) || is_planning()) return "";
  const uintptr_t at = reinterpret_cast<uintptr_t>(address), four = at & ~uintptr_t{3};
  const Record write = [&] {
    Cell& all = global_cell(four);
    const CellLock lock(all);
    return (all.is_split ? global_byte_cells(four)[at - four] : all).write;
  }();
  if (write.epoch == 0 || write.instruction == 0 || write.thread >= kUnits) return "";
  const Operation launch = find_operation(write.epoch);
  return launch.what.empty() ? "" : place_in_launch(launch, write);  // empty: it was long ago
}

void host_operation_reads(const Operation& now, const void* memory, size_t bytes) {
  access(now, memory, bytes, false);
}
void host_operation_writes(const Operation& now, const void* memory, size_t bytes) {
  access(now, memory, bytes, true);
}

void host_access(const void* address, const void* instruction) {
  if (!checks_are_on() || is_managed(address)) return;
  set_kernel_fault(cudaErrorIllegalAddress);
  // A program that asks for no error must fail, too.
  static const int at_exit = std::atexit([] {
    if (cudaDeviceSynchronize() == cudaSuccess) return;
    std::fflush(nullptr);
    _exit(1);
  });
  static_cast<void>(at_exit);
  static std::mutex mutex;
  static std::set<const void*> told;
  const std::lock_guard lock(mutex);
  if (!told.insert(instruction).second) return;
  const bool is_kernel = is_remembered(function_name(function_around(instruction)));
  publish("bounds in host code  " +
              source_line_with_text(static_cast<const char*>(instruction) - 1) +
              (is_kernel
                   ? "\n  this is a kernel, which was called like a function, by a pointer: on "
                     "a GPU it would not run\n  likely: <<<grid, block>>> is missing at the call\n"
                   : "\n  global memory in host code; with a GPU the program would crash here\n"
                     "  likely: a cudaMemcpy to the host is missing\n"),
          cudaErrorIllegalAddress);
}

}  // namespace simulator
