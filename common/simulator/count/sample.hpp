// The sample of a grid's blocks (common/backend/sample.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "common/backend/sample.hpp"
#include "common/simulator/count/trace.hpp"
#include "simulator/launch_site.h"

namespace simulator {

inline constexpr int kChosen = 4;  // blocks, or clusters, that stand for all

/// A block, or a cluster, that runs.
struct Chosen {
  int64_t number;      // in the grid, x first
  int neighbour = -1;  // along x, y or z (0, 1, 2) of the chosen one `of`; -1: it is no neighbour
  int64_t of = -1;     // that one's number
};
/// Those of a grid of so many blocks (or clusters) along x, y and z; all, where there are few.
std::vector<Chosen> chosen_blocks(const int64_t (&size)[3]);

/// Does only a sample run?
bool sampling();
/// A launch begins: what runs of it.
std::vector<Chosen> begin_sampled_launch(const Launch& launch);
/// One of the chosen has run.
void add_to_sample(const Chosen& chosen, std::vector<Profiled> profiles);
void end_sampled_launch();
/// It has done nothing: it is made again, in clusters.
void forget_sampled_launch();

/// For how many each block stands. A ticket drawn by a block of the sample (an atomicAdd() of an
/// integer) is as many tickets: the others' that would have drawn theirs meanwhile.
int64_t tickets_of_one();

}  // namespace simulator
