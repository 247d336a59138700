// Barriers in shared memory that count arrivals and bytes (mbarrier). Unlike at __syncthreads(),
// who arrives need not wait, who waits need not arrive, and copies of the TMA unit (tma.cuh) arrive
// too. So a producer and a consumer can hand tiles to each other and nobody else stops.
//
// A barrier goes through phases 0, 1, 2, … Each is complete when as many arrivals have come as
// barrier_init() said, and every byte that somebody expects. Who waits names the phase by its
// parity, 0 or 1:
//
//   phase              0 · · · · · · · ·│1 · · · · · · · ·│2 · · ·
//   arrivals to come   1        0       │1     0          │1
//   bytes to come      0   32768  16384 0     32768       0
//   wait(parity 0)     ─── stops here ──┤ goes on ─────── ┤ stops here: phase 2 is not complete
//   wait(parity 1)     goes on at once: │ stops here ─────┤ goes on
//                      so a producer's first wait for an empty stage uses parity 1
//
// A ring of S stages has a full and an empty barrier a stage; the k-th use of a stage is phase k of
// both. The waiting thread counts, in a Ring.
//
// cuda::barrier is the same thing in memory. A wait for a parity and an arrival in another block
// are not in its documented interface; libcu++'s cuda::ptx has them, as mbarrier_try_wait_parity
// and mbarrier_arrive. The names here are the instructions'. (PTX ISA, "mbarrier".) They need
// compute capability 9.0.
#pragma once

#include <ptx_hopper.h>

#include <cstdint>

namespace tutorial {

/// 8 bytes of shared memory: `__shared__ Barrier full[STAGES];`
struct Barrier {
  uint64_t state;
};

/// By one thread, once: each phase is complete after so many arrivals. Then
/// barrier_init_fence() and __syncthreads() (in a cluster: cluster_sync()), before anyone uses it.
/// (PTX ISA, "mbarrier.init".)
__device__ __forceinline__ void barrier_init(Barrier& barrier, int arrivals) {
  ptx::mbarrier_init(&barrier.state, static_cast<uint32_t>(arrivals));
}
/// Shows the barriers that this thread has made to the TMA unit and to the cluster. (PTX ISA,
/// "fence.mbarrier_init".)
__device__ __forceinline__ void barrier_init_fence() {
  ptx::fence_mbarrier_init();
}

/// One arrival. What the thread did before it is seen by those who wait for the phase. (PTX ISA,
/// "mbarrier.arrive".)
__device__ __forceinline__ void barrier_arrive(Barrier& barrier) {
  ptx::mbarrier_arrive(&barrier.state);
}
/// One arrival, and so many bytes that the phase waits for besides: those of the copies that this
/// thread is about to begin. (PTX ISA, "mbarrier.arrive.expect_tx".)
__device__ __forceinline__ void barrier_arrive_expect(Barrier& barrier, int bytes) {
  ptx::mbarrier_arrive_expect_tx(&barrier.state, static_cast<uint32_t>(bytes));
}
/// One arrival at the same barrier of another block of the cluster (or of this one): `block` is its
/// rank. It says that this thread has read what the other block may write again. It is a release
/// for this block only, so the memory model promises the other block nothing, not even that;
/// CUTLASS arrives by the same two instructions. What was written for the other takes
/// cluster_sync(). (With .release.cluster all would be promised, but then each arrival waits for
/// all earlier accesses of the thread, also those to global memory. PTX ISA, "mapa",
/// "mbarrier.arrive" with .shared::cluster.)
__device__ __forceinline__ void barrier_arrive_at(Barrier& barrier, int block) {
  ptx::mbarrier_arrive_cluster(&barrier.state, static_cast<uint32_t>(block));
}

/// Waits until the phase of this parity is complete: the current phase, or the one before, which is
/// complete already. (PTX ISA, "mbarrier.try_wait.parity".)
__device__ __forceinline__ void barrier_wait(Barrier& barrier, int parity) {
  ptx::mbarrier_wait_parity(&barrier.state, static_cast<uint32_t>(parity));
}

/// Where a thread is in a ring of stages: the stage, and the parity of its barriers' phase, which
/// turns when all stages have been used.
template <int STAGES>
struct Ring {
  int stage = 0, parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
};

}  // namespace tutorial
