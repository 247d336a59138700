// Stores and additions by the TMA unit without a tensor map: one thread names neighbouring numbers
// in shared memory, and the unit stores them in global memory, or adds them to as many there. No
// thread reads the sums: the L2 cache, where they lie, adds.
//
//   fence_async_proxy();  barrier                // every writer of the numbers (tma.cuh)
//   if (one thread) {
//     bulk_add(sums, numbers, COUNT);
//     tma_commit();
//     tma_wait_read<0>();                        // before the numbers are written again
//     tma_wait<0>();                             // before somebody is told that they are added
//   }
//
// Each number is added in one piece, as atomicAdd() would. In which order the additions of several
// threads come is open, and with it the last bits of the sums: who wants the same bits each time
// lets one wait for the other. (PTX ISA,
// "cp.reduce.async.bulk".) Compute capability 9.0.
#pragma once

#include <ptx_bulk.h>

#include "common/kernel/tma.cuh"

namespace tutorial {

/// Begins to[i] = from[i], under the conditions of bulk_add(). (PTX ISA, "cp.async.bulk".)
__device__ __forceinline__ void bulk_store(float* to, const float* from, int count) {
  ptx::bulk_store(to, from, count);
}
/// Begins to[i] += from[i] for i < count: `from` in shared memory, `to` in global memory, both at
/// multiples of 16 bytes; count is a multiple of 4. The thread commits it to a group and waits for
/// it, as for tma_store().
__device__ __forceinline__ void bulk_add(float* to, const float* from, int count) {
  ptx::bulk_add(to, from, count);
}

}  // namespace tutorial
