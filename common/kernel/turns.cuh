// Turns: who comes first, second, third … at something in global memory that several blocks write.
// The number of those who are done lies beside it.
//
//   while (turn_of(&turns[x]) != before) {   // one lane; then __syncwarp(), or a barrier
//   }
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

/// How many have been there. What they wrote may be read and written from then on. (PTX ISA,
/// "ld.acquire".)
__device__ inline unsigned turn_of(const unsigned* turns) {
  return ptx::load_acquire(turns);
}

/// One more. Waits until what this thread knows to be written is: its own, and what was written
/// before a barrier. (PTX ISA, "red.release".)
__device__ inline void next_turn(unsigned* turns) {
  ptx::add_release(turns);
}

}  // namespace tutorial
