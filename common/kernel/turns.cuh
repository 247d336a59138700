// Turns: who comes first, second, third … at something in global memory that several blocks write.
// The number of those who are done lies beside it.
//
//   unsigned turn = turn_of(&turns[x]);      // one lane, early
//   while (turn != before) turn = turn_of(&turns[x]);
//   turn_has_come();                         // then __syncwarp(), or a barrier
//   … write what belongs to x …
//   __syncthreads();                         // all of the block have written
//   if (threadIdx.x == 0) next_turn(&turns[x]);
//
// What the block wrote before next_turn() is there for who has read that turn. A block may wait for
// those only who have surely begun: blocks that number themselves as they begin do.
// (cuda::atomic_ref of libcu++ is the same, with acquire and release.)
#pragma once

#include <ptx_turns.h>

namespace tutorial {

/// How many have been there. It orders nothing, so it may be asked long before it is needed, and
/// other loads pass it. (PTX ISA, "ld.relaxed".)
__device__ inline unsigned turn_of(const unsigned* turns) {
  return ptx::load_relaxed(turns);
}
/// Behind the turn_of() that said so: what those who have been there wrote may be read and written
/// from then on. (PTX ISA, "fence.acq_rel".)
__device__ inline void turn_has_come() {
  ptx::fence();
}

/// One more. Waits until what this thread knows to be written is: its own, and what was written
/// before a barrier. (PTX ISA, "red.release".)
__device__ inline void next_turn(unsigned* turns) {
  ptx::add_release(turns);
}

}  // namespace tutorial
