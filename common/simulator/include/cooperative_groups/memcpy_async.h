// Copies by all threads of a group together. From global memory to shared memory they are
// asynchronous (cuda_pipeline_primitives.h): until wait() nobody may touch the array.
#pragma once

#include "cooperative_groups.h"
#include "cuda_pipeline_primitives.h"

namespace cooperative_groups {

#define SIMULATOR_IN_PLACE \
  __attribute__((always_inline)) inline  // a report names the caller's line

/// Copies `bytes` bytes.
template <class Group, class T>
SIMULATOR_IN_PLACE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  char* const target = reinterpret_cast<char*>(to);
  const char* const source = reinterpret_cast<const char*>(from);
  const uintptr_t all = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  // Whole pieces of 16, 8 or 4 bytes can be on their way by themselves.
  const size_t piece = all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : 4;
  const size_t first = group.thread_rank(), step = group.num_threads();
  if (__isShared(to) && __isGlobal(from) && all % 4 == 0) {
    for (size_t at = first * piece; at < bytes; at += step * piece)
      __pipeline_memcpy_async(target + at, source + at, piece);
  } else {
    for (size_t at = first; at < bytes; at += step) target[at] = source[at];
  }
  __pipeline_commit();
}
/// Copies as many elements as both have.
template <class Group, class T>
SIMULATOR_IN_PLACE void memcpy_async(const Group& group, T* to, size_t to_count, const T* from,
                                     size_t from_count) {
  memcpy_async(group, to, from, sizeof(T) * (to_count < from_count ? to_count : from_count));
}

/// Until all but the last `STAGES` copies of the group have arrived.
template <unsigned STAGES, class Group>
void wait_prior(const Group& group, SIMULATOR_WHERE) {
  __pipeline_wait_prior(STAGES);
  sync(group, where);
}
template <class Group>
void wait(const Group& group, SIMULATOR_WHERE) {
  wait_prior<0>(group, where);
}
#undef SIMULATOR_IN_PLACE

}  // namespace cooperative_groups
