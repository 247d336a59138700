// Asynchronous copies from global memory to shared memory (CUDA C++ Programming Guide, "Pipeline
// Primitives Interface"). A copy is made when its thread waits for it, as late as a GPU might, so
// what is read too early is not there yet; with the checks on it is a race, too.
#pragma once

#include <cstddef>

/// `size` is 4, 8 or 16, and both addresses are multiples of it. The last `zfill` bytes become zero
/// instead.
void __pipeline_memcpy_async(void* shared, const void* global, size_t size, size_t zfill = 0);
/// The copies since the last commit become a group.
void __pipeline_commit();
/// Waits for all of the calling thread's groups but the last `groups`.
void __pipeline_wait_prior(size_t groups);
