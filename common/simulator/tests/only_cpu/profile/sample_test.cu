// A sample of a grid's blocks stands for all: kernels whose counts are known by heart.
#include "common/backend/sample.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/count/merged_loads.hpp"
#include "common/simulator/count/sample.hpp"

using namespace tutorial;

namespace {

SampledLaunch sampled(const std::function<void()>& launch) {
  start_sample();
  launch();
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<SampledLaunch> launches = take_sample();
  REQUIRE(launches.size() == 1);
  return launches[0];
}

/// A row of `rows` by y and a row of `columns` by x, as a tile of a product takes them.
__global__ void product_of_rows(const float* rows, const float* columns, float* out) {
  const size_t x = blockIdx.x, y = blockIdx.y;
  out[(y * gridDim.x + x) * 32 + threadIdx.x] =
      rows[y * 32 + threadIdx.x] * columns[x * 32 + threadIdx.x];
}

TEST_CASE("a sample has the counts of all blocks, and what neighbours share") {
  const DeviceBuffer<float> rows(std::vector<float>(32 * 40)), columns(std::vector<float>(32 * 50));
  DeviceBuffer<float> out(32 * 40 * 50);
  const SampledLaunch launch = sampled(
      [&] { product_of_rows<<<dim3(50, 40), 32>>>(rows.data(), columns.data(), out.data()); });
  CHECK(launch.blocks() == 2000);
  CHECK(launch.sampled == 4);
  CHECK(launch.counts.loads.requests == 2 * 4);
  CHECK(launch.counts.loads.sectors == 8 * 4);
  CHECK(launch.factor() * static_cast<double>(launch.counts.stores.sectors) == 4 * 2000);
  CHECK(launch.lines == 3 * 4);
  CHECK(launch.missed_l1[0] == 8 * 4);
  REQUIRE(launch.touched.size() == 3);
  double shared_along[3] = {};
  for (const Touched& touched : launch.touched) {
    CHECK(touched.loaded + touched.stored == 4);
    CHECK(touched.allocated >= 4 * 32 * 40);
    for (int d = 0; d < 3; ++d) shared_along[d] += touched.shared[d];
  }
  CHECK(shared_along[0] == 1);  // the row, with the next block along x
  CHECK(shared_along[1] == 1);
  CHECK(shared_along[2] == 0);
}

TEST_CASE("after a sample all blocks run again") {
  const DeviceBuffer<float> rows(std::vector<float>(32 * 4, 2)),
      columns(std::vector<float>(32 * 5, 3));
  DeviceBuffer<float> out(32 * 4 * 5);
  const auto launch = [&] {
    product_of_rows<<<dim3(5, 4), 32>>>(rows.data(), columns.data(), out.data());
  };
  sampled(launch);
  launch();
  CHECK(out.to_host() == std::vector<float>(32 * 4 * 5, 6));
}

__global__ void repeats(const float* in, float* out) {
  float sum = 0;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 128; ++i) sum += in[i * 32 + static_cast<int>(threadIdx.x)];
  out[blockIdx.x * 32 + threadIdx.x] = sum;
}

TEST_CASE("what a warp reads again is in its share of L1, or is not") {
  const DeviceBuffer<float> in(std::vector<float>(128 * 32));
  DeviceBuffer<float> out(32 * 1000);
  const SampledLaunch launch = sampled([&] { repeats<<<1000, 32>>>(in.data(), out.data()); });
  CHECK(launch.missed_l1[0] == 4 * 3 * 512);  // of 16 KB three times, with 2 KB
  CHECK(launch.missed_l1[2] == 4 * 512);      // with 32 KB
  CHECK(launch.arithmetic.products >= 4 * 3 * 128);
  CHECK(launch.arithmetic.products <= 4 * 3 * 128 + 4 * 8);
}

__global__ void computes(const float* in, float* out) {
  const float x = in[threadIdx.x];
  out[blockIdx.x * 32 + threadIdx.x] = expf(x) / (x * x + 2) + fmaxf(x, 3);
}

TEST_CASE("floating-point instructions are found in the program") {
  const DeviceBuffer<float> in(std::vector<float>(32, 1));
  DeviceBuffer<float> out(32 * 1000);
  const SampledLaunch launch = sampled([&] { computes<<<1000, 32>>>(in.data(), out.data()); });
  CHECK(launch.sampled == 4);
  CHECK(launch.arithmetic.divisions == 4);
  CHECK(launch.arithmetic.functions == 4);
  CHECK(launch.arithmetic.products == 4 * 3);
}

/// Whoever draws a ticket below `tickets` has work to do.
__global__ void draws(int* next, int tickets, float* out) {
  __shared__ int ticket;
  for (;;) {
    if (threadIdx.x == 0) ticket = atomicAdd(next, 1);
    __syncthreads();
    const int mine = ticket;
    __syncthreads();
    if (mine >= tickets) return;
    out[mine * 32 + static_cast<int>(threadIdx.x)] = 1;
  }
}

TEST_CASE("a block of a sample draws its own tickets only") {
  DeviceBuffer<int> next(std::vector<int>{0});
  DeviceBuffer<float> out(32 * 1000);
  const SampledLaunch launch = sampled([&] { draws<<<100, 32>>>(next.data(), 1000, out.data()); });
  const double stores = launch.factor() * static_cast<double>(launch.counts.stores.requests);
  CHECK(stores >= 900);
  CHECK(stores <= 1100);
}

TEST_CASE("a few blocks all run; of many those from all over the grid") {
  CHECK(simulator::chosen_blocks({2, 3, 1}).size() == 6);
  const std::vector<simulator::Chosen> chosen = simulator::chosen_blocks({30, 60, 1});
  CHECK(chosen.size() == 4 + 2);
  int64_t neighbours = 0, x = 0, quarters = 0;
  for (const simulator::Chosen& one : chosen) {
    if (one.neighbour >= 0) {
      ++neighbours;
      CHECK(std::abs(one.number - one.of) == (one.neighbour == 0 ? 1 : 30));
      CHECK(std::ranges::count(chosen, one.of, &simulator::Chosen::number) == 1);
      continue;
    }
    x += one.number % 30;
    quarters |= 1 << one.number / 30 / 15;
  }
  CHECK(neighbours == 2);
  CHECK(x == 2 * 29);  // the mean is that of 0 … 29
  CHECK(quarters == 0b1111);
}

TEST_CASE("one dimension that holds tiles in turn has each tile's share") {
  for (const int64_t period : {4, 16, 32, 64}) {
    int64_t sum = 0;
    for (const simulator::Chosen& one : simulator::chosen_blocks({period * 96, 1, 1}))
      if (one.neighbour < 0) sum += one.number % period;
    CHECK(sum == 2 * (period - 1));
  }
}

simulator::WarpRequest request(uintptr_t first, uintptr_t stride, uint32_t bytes) {
  simulator::WarpRequest made{.lanes = 0xffffffff, .bytes = bytes, .address = {}};
  for (size_t lane = 0; lane < 32; ++lane) made.address[lane] = first + lane * stride;
  return made;
}

TEST_CASE("neighbours that each lane reads one after another are one load") {
  simulator::MergedLoads merged;
  for (uintptr_t i = 0; i < 8; ++i) merged.load(0, 7, request(4096 + 4 * i, 32, 4));
  CHECK(merged.requests() == 2);  // 16 bytes each, with a stride of 32: eight passes
  CHECK(merged.passes() == 16);
  merged.load(0, 7, request(4096, 4, 4));
  merged.load(0, 7, request(4096 + 128, 4, 4));
  CHECK(merged.requests() == 4);  // the next row is no neighbour
  merged.load(0, 8, request(4096, 4, 4));
  CHECK(merged.requests() == 5);  // nor is what another place of the program reads
  CHECK(merged.requests_by_instruction().at(7) == 4);
  simulator::MergedLoads odd;
  for (uintptr_t i = 0; i < 3; ++i) odd.load(0, 7, request(4100 + 4 * i, 16, 4));
  CHECK(odd.requests() == 2);  // 4 bytes, then 8
}

}  // namespace
