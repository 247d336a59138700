// Lists of keys, sorted, in global memory; a warp merges more keys into one.
#pragma once

#include "nearest/key.cuh"

namespace tutorial::masked_bmm::nearest {

/// Of the list's `listed` keys and the lanes' own the smallest stay in the list, sorted. A key's
/// place is the number of smaller ones: no two are equal, NOTHING aside. All lanes of a warp call;
/// who has no key brings NOTHING.
__device__ inline void merge(Key* list, int listed, Key mine) {
  const int lane = threadIdx.x % 32;
  const int count = 32 - __clz(__ballot_sync(0xffffffffu, mine != NOTHING));
  if (count == 0) return;
  int place_of_mine = 0;
  for (int other = 0; other < count; ++other)
    place_of_mine += __shfl_sync(0xffffffffu, mine, other) < mine;
  // From the end, 32 at a time: a key moves by 32 places at most, to where others have moved away.
  for (int begin = (listed - 1) / 32 * 32; begin >= 0; begin -= 32) {
    const int from = begin + lane;
    const Key old = from < listed ? list[from] : NOTHING;
    int place = from;
    for (int other = 0; other < count; ++other) {
      const bool is_before = old < __shfl_sync(0xffffffffu, mine, other);
      const unsigned before = __ballot_sync(0xffffffffu, is_before);
      if (!is_before) ++place;
      if (lane == other) place_of_mine += __popc(before);
    }
    __syncwarp();  // all have read
    if (old != NOTHING && place < listed) list[place] = old;
    __syncwarp();
  }
  if (mine != NOTHING && place_of_mine < listed) list[place_of_mine] = mine;
  __syncwarp();
}

}  // namespace tutorial::masked_bmm::nearest
