// One value of all the threads of a tile or of a coalesced group.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned N, class Parent, class T, class Operation>
T reduce(const thread_block_tile<N, Parent>& tile, T value, Operation operation, SIMULATOR_WHERE) {
  for (unsigned distance = N / 2; distance > 0; distance /= 2)
    value = operation(value, tile.shfl_xor(value, distance, where));
  return value;
}
/// Of any size: halves of the next power of two; what lies beyond the group is left out.
template <class T, class Operation>
T reduce(const coalesced_group& group, T value, Operation operation, SIMULATOR_WHERE) {
  const unsigned size = group.num_threads(), rank = group.thread_rank();
  for (unsigned distance = std::bit_ceil(size) / 2; distance > 0; distance /= 2) {
    const T other = group.shfl_down(value, distance, where);
    if (rank + distance < size) value = operation(value, other);
  }
  return group.shfl(value, 0, where);
}

}  // namespace cooperative_groups
