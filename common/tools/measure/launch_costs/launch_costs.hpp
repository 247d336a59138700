// What a launch costs on the host: how long the processor is busy with it, whatever the GPU does.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "common/kernel/check.hpp"

namespace tutorial {

/// Microseconds of the host's clock for one call: the median of 25 batches of 200 calls. The GPU is
/// waited for before each batch; more than some 1000 launches on their way would make a call wait.
template <class Call>
double microseconds(const Call& call) {
  constexpr int BATCHES = 25, CALLS = 200;
  std::vector<double> took;
  for (int batch = 0; batch <= BATCHES; ++batch) {
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < CALLS; ++i) call();
    const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - begin;
    if (batch > 0) took.push_back(all.count() / CALLS);  // the first one warms up
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  std::nth_element(took.begin(), took.begin() + BATCHES / 2, took.end());
  return took[BATCHES / 2];
}

/// A line as variants.csv has them.
inline void print_cost(const char* size, const char* what, double microseconds) {
  std::printf("launch_costs,%s,%s,%.3f,µs,\n", size, what, microseconds);
}

void product_costs();
void attention_costs();

}  // namespace tutorial
