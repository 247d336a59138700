#include "common/simulator/units/async_copies.hpp"

#include <csignal>
#include <cstring>

#include "common/simulator/check/checks.hpp"
#include "common/simulator/count/trace.hpp"
#include "common/simulator/device/running_block.hpp"
#include "cuda_pipeline.h"

using namespace simulator;

namespace {

RunningBlock& block_in_kernel() {
  if (current_block() != nullptr) return *current_block();
  std::fputs("An asynchronous copy was called outside a kernel.\n", stderr);
  std::abort();
}

}  // namespace

void __pipeline_memcpy_async(void* shared, const void* global, size_t size, size_t zfill) {
  RunningBlock& running = block_in_kernel();
  const SimulatorScope scope;
  const void* instruction = __builtin_return_address(0);
  const uintptr_t to = reinterpret_cast<uintptr_t>(shared);
  const uintptr_t from = reinterpret_cast<uintptr_t>(global);
  if (!running.is_shared(to) || (size != 4 && size != 8 && size != 16) || zfill > size)
    throw Fault(cudaErrorIllegalAddress,
                "bounds in " + std::string(running.kernel()) +
                    "\n  __pipeline_memcpy_async copies 4, 8 or 16 bytes into shared memory\n");
  const size_t read = size - zfill;
  if (to % size != 0 || (read > 0 && from % size != 0))
    running.crash(SIGBUS, to % size != 0 ? shared : global,
                  static_cast<const char*>(instruction) - 1);
  if (running.trace) {
    const uint32_t call = running.call_before(instruction);
    const auto note = [&](Access access, uintptr_t address, size_t bytes) {
      running.trace->access(running.current(), call, access, address, bytes);
    };
    const bool wide = read == 16;
    if (read > 0) note(wide ? Access::copy_from : Access::part_copy_from, from, read);
    if (wide)
      note(Access::copy_to, to, size);
    else if (running.trace->is_recording())
      note(Access::part_copy_to, to, size);
  }
  if (read > 0 && running.checks)
    running.checks->global_access(from, read, AccessKind::read, instruction);
  if (running.trace) running.trace->async_copy_begun();
  if (running.checks) running.checks->shared_access(to, size, AccessKind::copy_begins, instruction);
  running.async_copies->add(running.current(), {shared, global, size, zfill, instruction});
}

void __pipeline_commit() {
  RunningBlock& running = block_in_kernel();
  const SimulatorScope scope;
  running.async_copies->commit(running.current());
}

void __pipeline_wait_prior(size_t groups) {
  RunningBlock& running = block_in_kernel();
  const SimulatorScope scope;
  for (const AsyncCopy& copy : running.async_copies->take(running.current(), groups)) {
    const size_t read = copy.size - copy.zfill;
    if (read > 0) std::memcpy(copy.to, copy.from, read);
    std::memset(static_cast<char*>(copy.to) + read, 0, copy.zfill);
    if (running.checks)
      running.checks->shared_access(reinterpret_cast<uintptr_t>(copy.to), copy.size,
                                    AccessKind::copy_ends, copy.instruction);
  }
}
