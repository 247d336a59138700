// Running totals over the threads of a tile or of a coalesced group, in the order of their ranks.
#pragma once

#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

template <class Group, class T, class Operation>
T inclusive_scan(const Group& group, T value, Operation operation, SIMULATOR_WHERE) {
  for (unsigned distance = 1; distance < group.num_threads(); distance *= 2) {
    const T before = group.shfl_up(value, distance, where);
    if (group.thread_rank() >= distance) value = operation(before, value);
  }
  return value;
}
template <class Group, class T>
T inclusive_scan(const Group& group, T value, SIMULATOR_WHERE) {
  return inclusive_scan(group, value, plus<T>{}, where);
}
/// The first thread's is T{}.
template <class Group, class T, class Operation>
T exclusive_scan(const Group& group, T value, Operation operation, SIMULATOR_WHERE) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation, where), 1, where);
  return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T>
T exclusive_scan(const Group& group, T value, SIMULATOR_WHERE) {
  return exclusive_scan(group, value, plus<T>{}, where);
}

}  // namespace cooperative_groups
