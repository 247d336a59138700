#include "common/simulator/count/sample.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "common/simulator/device/device.hpp"
#include "common/simulator/device/plan.hpp"

namespace simulator {
namespace {

struct Ran {
  Chosen chosen;
  std::vector<uintptr_t> loaded, stored;
};

std::atomic<bool> wanted = false;
std::atomic<int64_t> stands_for = 1;
std::mutex mutex;
std::vector<tutorial::SampledLaunch> launches;
std::vector<Ran> ran;  // of the last launch

/// The sectors by the allocation that they lie in.
std::map<uintptr_t, double> by_allocation(const std::vector<uintptr_t>& sectors) {
  std::map<uintptr_t, double> counts;
  Allocation in;
  for (const uintptr_t sector : sectors) {
    const uintptr_t at = sector * 32;
    if (in.bytes == 0 || at + 32 <= in.begin || at >= in.begin + in.bytes) {
      in = find_allocation(reinterpret_cast<const void*>(at));
      if (in.bytes == 0) in = find_allocation(reinterpret_cast<const void*>(at + 31));
    }
    counts[in.bytes > 0 ? in.begin : 0] += 1;
  }
  return counts;
}

/// In a grid's dimension of `size`: the place of the chosen block `turn`. Two and two lie alike
/// from both ends, so that work which grows along the dimension, as under a causal mask, has its
/// true mean; within 64 neighbours, too, where a dimension holds several in turn.
int64_t place_of(int turn, int64_t size) {
  constexpr int64_t kNeighbours = 64, kOffset[] = {10, 39};
  if (turn >= kChosen / 2) return size - 1 - place_of(kChosen - 1 - turn, size);
  const int64_t place = ((2 * turn + 1) * size - 1) / (2 * kChosen);
  return size < 2 * kNeighbours ? place : place / kNeighbours * kNeighbours + kOffset[turn];
}

}  // namespace

std::vector<Chosen> chosen_blocks(const int64_t (&size)[3]) {
  const int64_t all = size[0] * size[1] * size[2];
  std::vector<Chosen> chosen;
  if (all <= kChosen + 3) {
    for (int64_t i = 0; i < all; ++i) chosen.push_back({i});
    return chosen;
  }
  constexpr int kTurns[kChosen][3] = {{0, 2, 1}, {1, 0, 3}, {2, 3, 0}, {3, 1, 2}};
  const int64_t stride[] = {1, size[0], size[0] * size[1]};
  for (const auto& turns : kTurns) {
    int64_t at[3], number = 0;
    for (int d = 0; d < 3; ++d) {
      at[d] = place_of(turns[d], size[d]);
      number += at[d] * stride[d];
    }
    chosen.push_back({number});
    if (&turns != &kTurns[1]) continue;
    for (int d = 0; d < 3; ++d)
      if (size[d] > 1)
        chosen.push_back({number + (at[d] + 1 < size[d] ? stride[d] : -stride[d]), d, number});
  }
  return chosen;
}

bool sampling() {
  return wanted;
}
int64_t tickets_of_one() {
  return stands_for;
}

std::vector<Chosen> begin_sampled_launch(const Launch& launch) {
  tutorial::SampledLaunch sampled{described(launch)};
  int64_t size[3];
  for (int d = 0; d < 3; ++d) size[d] = sampled.grid[d] / sampled.cluster[d];
  std::vector<Chosen> chosen = chosen_blocks(size);
  // Tickets are drawn by whoever comes first, and that is none of the neighbours.
  const int64_t counted = std::ranges::count(chosen, -1, &Chosen::neighbour);
  stands_for = std::max<int64_t>(size[0] * size[1] * size[2] / std::max<int64_t>(counted, 1), 1);
  const std::lock_guard lock(mutex);
  launches.push_back(std::move(sampled));
  ran.clear();
  return chosen;
}

void add_to_sample(const Chosen& chosen, std::vector<Profiled> profiles) {
  const std::lock_guard lock(mutex);
  tutorial::SampledLaunch& launch = launches.back();
  Ran here = {chosen, {}, {}};
  int64_t steps = 0;
  for (Profiled& profiled : profiles) {
    const Footprint& footprint = profiled.footprint;
    std::ranges::copy(footprint.loaded(), std::back_inserter(here.loaded));
    std::ranges::copy(footprint.stored(), std::back_inserter(here.stored));
    if (chosen.neighbour >= 0) continue;
    launch.sampled += profiled.blocks;
    launch.counts += total(profiled);
    launch.past_l1 += footprint.past_l1();
    launch.merged_loads += profiled.merged.requests();
    launch.merged_passes += profiled.merged.passes();
    launch.lines += footprint.lines();
    launch.arithmetic += profiled.arithmetic;
    launch.by_warps += profiled.by_warps;
    launch.by_warpgroups += profiled.by_warpgroups;
    const std::array<double, 3> missed = footprint.missed_l1();
    for (size_t i = 0; i < missed.size(); ++i) launch.missed_l1[i] += missed[i];
    steps += profiled.steps;
  }
  launch.steps += steps;
  launch.longest = std::max(launch.longest, steps);
  for (std::vector<uintptr_t>* sectors : {&here.loaded, &here.stored}) {
    std::ranges::sort(*sectors);
    sectors->erase(std::unique(sectors->begin(), sectors->end()), sectors->end());
  }
  ran.push_back(std::move(here));
}

void forget_sampled_launch() {
  const std::lock_guard lock(mutex);
  launches.pop_back();
}

void end_sampled_launch() {
  const std::lock_guard lock(mutex);
  stands_for = 1;
  struct Sums {
    double loaded = 0, stored = 0, shared[3] = {};
  };
  std::map<uintptr_t, Sums> sums;
  double own = 0;
  for (const Ran& one : ran) {
    if (one.chosen.neighbour >= 0) continue;
    own += 1;
    for (const auto& [begin, count] : by_allocation(one.loaded)) sums[begin].loaded += count;
    for (const auto& [begin, count] : by_allocation(one.stored)) sums[begin].stored += count;
  }
  for (const Ran& other : ran) {
    const auto is_centre = [&](const Ran& one) {
      return one.chosen.neighbour < 0 && one.chosen.number == other.chosen.of;
    };
    const auto centre = std::ranges::find_if(ran, is_centre);
    if (centre == ran.end()) continue;  // `other` is no neighbour, or a fault ended the launch
    const std::map<uintptr_t, double> all = by_allocation(centre->loaded);
    std::vector<uintptr_t> common;
    std::ranges::set_intersection(centre->loaded, other.loaded, std::back_inserter(common));
    for (const auto& [begin, count] : by_allocation(common))
      sums[begin].shared[other.chosen.neighbour] = count / all.at(begin);
  }
  for (const auto& [begin, sum] : sums) {
    tutorial::Touched touched;
    if (begin != 0)
      touched.allocated =
          static_cast<double>(find_allocation(reinterpret_cast<const void*>(begin)).bytes);
    touched.loaded = sum.loaded / own;
    touched.stored = sum.stored / own;
    std::ranges::copy(sum.shared, touched.shared);
    launches.back().touched.push_back(touched);
  }
  ran.clear();
}

}  // namespace simulator

void tutorial::start_sample() {
  const std::lock_guard lock(simulator::mutex);
  simulator::launches.clear();
  simulator::wanted = true;
}

std::vector<tutorial::SampledLaunch> tutorial::take_sample() {
  const std::lock_guard lock(simulator::mutex);
  simulator::wanted = false;
  return std::exchange(simulator::launches, {});
}
