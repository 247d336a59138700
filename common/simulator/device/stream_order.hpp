// Which of the things that the host asked of the device are ordered. The simulator does each at
// once; a GPU does it when those before it in its stream are done, and those that an event makes it
// wait for. Every operation (a launch, a copy, a fill, a product of cuBLAS) has a number, and every
// stream a clock: the last operation of each stream that has ended before its next one begins.
// (CUDA C++ Programming Guide, "Streams" and "Default Stream"; clocks as in Mattern, "Virtual time
// and global states of distributed systems", 1988.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/runtime_api.h"

namespace simulator {

/// By stream: the number of its last operation that is known to have ended.
using Clock = std::vector<uint32_t>;

struct Operation {
  uint32_t number = 0;    // of all, from 1; the epoch of its accesses (shadow.hpp)
  std::string what;       // "scale_kernel", "cudaMemcpyAsync"
  std::string stream;     // "the default stream", "stream 2"
  dim3 grid, block;       // of a launch
  Clock before;           // what has ended before it begins
  bool after_all = true;  // everything has
};

/// The next operation on a stream; null is the default stream, which waits for all blocking streams
/// and they for it.
Operation begin_operation(const std::string& what, cudaStream_t stream, dim3 grid = {},
                          dim3 block = {});
/// Has the operation of this number ended before `now` begins?
bool is_ordered(uint32_t number, const Operation& now);
/// What is remembered of an operation: of the last few thousand.
Operation find_operation(uint32_t number);
/// Was there one of this name, among those that are remembered?
bool is_remembered(const std::string& what);
/// False as long as there is only the default stream: then everything is in order.
bool has_streams();

// ---- What orders streams and the host. `Clock` is an event's.

cudaStream_t new_stream(bool is_blocking);
void delete_stream(cudaStream_t stream);
Clock record_event(cudaStream_t stream);
void wait_for_event(cudaStream_t stream, const Clock& event);
void host_waits(const Clock& event);
void host_waits(cudaStream_t stream);
void host_waits_for_all();

// ---- Memory that a library, a copy or a fill accesses

/// Looks whether `now` may read or write these bytes of global memory, and remembers that it did. A
/// race is told at once, and is the device's fault as a kernel's is.
void host_operation_reads(const Operation& now, const void* memory, size_t bytes);
void host_operation_writes(const Operation& now, const void* memory, size_t bytes);

}  // namespace simulator
