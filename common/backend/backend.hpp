// The device at hand. The GPU's version is backend_gpu.cu, the simulator's is in simulator/;
// nothing else knows which of them it runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"

namespace tutorial {

/// "NVIDIA H100 80GB HBM3 (sm_90, 132 SMs)", or the simulator with the reason that it is used.
std::string device_description();
/// True on a GPU; false where a time would mean nothing and profile.hpp counts instead.
bool device_has_clock();
/// Throws Error, one sentence, when the backend cannot run: no driver, no GPU, a GPU that the
/// program was not built for.
void require_device();
/// "" when a kernel that needs this ("", "sm_90a", …) can run here, else the reason.
std::string why_not_here(const std::string& needs);

/// How far the launch is that runs now; any host thread may ask. A backend that does not know, or
/// runs none, has 0 blocks.
struct LaunchProgress {
  int64_t launches = 0;          // begun so far
  int64_t done = 0, blocks = 0;  // of the launch that runs
};
LaunchProgress launch_progress();

/// Poison is no data: a backend that looks for reads of memory that nobody wrote forgets that these
/// bytes were filled.
void mark_device_memory_unwritten(void* memory, int64_t bytes);
/// Of the allocation that holds them, only these elements are for kernels; the rest guards them.
/// `element` is the size of one. A backend that checks accesses reports the others.
void mark_device_memory_elements(const void* elements, int64_t bytes, int64_t element);

/// For a backend that checks and orders what kernels do; on a GPU these do nothing. From the next
/// launch on:
void switch_checks(bool on);
void set_thread_order(uint64_t seed);  // of blocks and threads, shuffled; 0: the natural one
/// A launch that runs longer is ended, with a report of where it is; 0: no limit.
void set_launch_limit(double seconds);
/// So is one that makes ten times as many accesses to global memory, of four bytes each, as its
/// kernel should make in all; a kernel without an entry may make any number.
void set_expected(std::vector<Asked> asked);

/// "race, step1_shared_tile.cu:35": what such a backend found wrong with the last launch that
/// failed; its report has been printed. "" on a GPU.
std::string last_finding();

/// "block (0,1) thread (3,4)  step2.cu:41   C[…] = sum;": the last thread of a kernel that wrote
/// this place in device memory, as far as such a backend has seen it; else "".
std::string last_writer(const void* address);

}  // namespace tutorial
