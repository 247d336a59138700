// Cooperative groups: blocks, tiles, lanes that run together; what they can do.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace cg = cooperative_groups;

namespace {

__global__ void describe_block(unsigned* out) {
  const cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() != 37) return;
  const unsigned values[] = {block.size(),          block.num_threads(),    block.group_index().x,
                             block.group_index().y, block.thread_index().x, block.thread_index().y,
                             block.dim_threads().x, block.group_dim().z};
  unsigned* const row = out + 10 * (blockIdx.x + gridDim.x * blockIdx.y);
  for (int i = 0; i < 8; ++i) row[i] = values[i];
  const cg::grid_group grid = cg::this_grid();
  row[8] = static_cast<unsigned>(grid.size());
  row[9] = static_cast<unsigned>(grid.thread_rank());
}

/// Reverses each row of 64 through shared memory.
__global__ void reverse(int* values) {
  __shared__ int row[64];
  const auto block = cg::this_thread_block();
  const unsigned t = block.thread_rank();
  row[t] = values[64 * blockIdx.x + t];
  block.sync();
  const int other = row[63 - t];
  cg::sync(block);
  values[64 * blockIdx.x + t] = other;
}

/// In each tile of N: rank, meta rank and size, shuffles, votes.
template <unsigned N>
__global__ void use_tiles(int* out) {
  const auto block = cg::this_thread_block();
  const cg::thread_block_tile<N> tile = cg::tiled_partition<N>(block);
  const int t = static_cast<int>(block.thread_rank()), rank = static_cast<int>(tile.thread_rank());
  int* const row = out + 12 * t;
  row[0] = rank;
  row[1] = static_cast<int>(tile.meta_group_rank());
  row[2] = static_cast<int>(tile.meta_group_size());
  row[3] = tile.shfl(t, 1 % N);
  row[4] = tile.shfl_down(t, 2);
  row[5] = tile.shfl_up(t, 1);
  row[6] = tile.shfl_xor(t, static_cast<int>(N) / 2);
  row[7] = tile.any(rank == 3);
  row[8] = tile.all(rank < 8);
  row[9] = static_cast<int>(tile.ballot(t % 3 == 0));
  row[10] = static_cast<int>(tile.match_any(rank / 2));
  tile.sync();
  row[11] = static_cast<int>(tile.size());
}

struct Wide {
  double value;
  int place;
};
__global__ void share_structs(double* out) {
  const auto tile = cg::tiled_partition<8>(cg::tiled_partition<32>(cg::this_thread_block()));
  const Wide mine = {0.5 * threadIdx.x, static_cast<int>(threadIdx.x)};
  const Wide other = tile.shfl(mine, 7 - tile.thread_rank());
  out[threadIdx.x] = 1000 * other.value + other.place;
}

/// The same function for a block and for its parts.
__device__ int sum_in(const cg::thread_group& group, int* scratch, int value) {
  for (unsigned half = group.size() / 2; half > 0; half /= 2) {
    scratch[group.thread_rank()] = value;
    group.sync();
    if (group.thread_rank() < half) value += scratch[group.thread_rank() + half];
    group.sync();
  }
  return value;
}
__global__ void sums_of_groups(int* out) {
  __shared__ int scratch[128];
  const cg::thread_block block = cg::this_thread_block();
  const int mine = static_cast<int>(block.thread_rank()) + 1;
  const int all = sum_in(block, scratch, mine);
  if (block.thread_rank() == 0) out[0] = all;
  const cg::thread_group part = cg::tiled_partition(block, 16);
  const int some = sum_in(part, scratch + block.thread_rank() / 16 * 16, mine);
  if (part.thread_rank() == 0) out[1 + block.thread_rank() / 16] = some;
}

template <class T>
__global__ void reduce_tiles(const T* in, T* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const T mine = in[threadIdx.x];
  T* const row = out + 3 * threadIdx.x;
  row[0] = cg::reduce(tile, mine, cg::plus<T>());
  row[1] = cg::reduce(tile, mine, cg::less<T>());
  row[2] = cg::reduce(tile, mine, cg::greater<T>());
}
__global__ void reduce_bits(const unsigned* in, unsigned* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  unsigned* const row = out + 3 * threadIdx.x;
  row[0] = cg::reduce(tile, in[threadIdx.x], cg::bit_and<unsigned>());
  row[1] = cg::reduce(tile, in[threadIdx.x], cg::bit_or<unsigned>());
  row[2] = cg::reduce(tile, in[threadIdx.x], cg::bit_xor<unsigned>());
}

/// Odd threads leave; those that are multiples of 6 go into a group, which may come in parts.
__global__ void count_together(int* counter, int* place, int* sizes) {
  const int t = static_cast<int>(threadIdx.x);
  if (t % 2 == 1) return;
  if (t % 6 == 0) {
    const cg::coalesced_group group = cg::coalesced_threads();
    int first = 0;
    if (group.thread_rank() == 0) first = atomicAdd(counter, static_cast<int>(group.size()));
    place[t] = group.shfl(first, 0) + static_cast<int>(group.thread_rank());
    sizes[t] = cg::reduce(group, 1, cg::plus<int>());
    place[t] += group.any(t > 1000) + !group.all(t % 6 == 0);
  }
}

__global__ void parts_of_a_tile(int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int t = static_cast<int>(threadIdx.x);
  const cg::coalesced_group small = cg::binary_partition(tile, t < 5);
  const cg::coalesced_group same = cg::labeled_partition(tile, t % 3);
  out[3 * t] = static_cast<int>(small.size());
  out[3 * t + 1] = cg::reduce(same, t, cg::plus<int>());
  out[3 * t + 2] = static_cast<int>(same.thread_rank());
}

__global__ void running_sums(const int* in, int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  out[2 * threadIdx.x] = cg::inclusive_scan(tile, in[threadIdx.x]);
  out[2 * threadIdx.x + 1] = cg::exclusive_scan(tile, in[threadIdx.x], cg::plus<int>());
}

}  // namespace

TEST_CASE("groups: a block describes itself", "[groups]") {
  const auto got = run_kernel<unsigned>(
      60, [](unsigned* out) { describe_block<<<dim3(3, 2), dim3(8, 6)>>>(out); });
  for (unsigned b = 0; b < 6; ++b) {
    const std::vector<unsigned> row(got.begin() + 10 * b, got.begin() + 10 * b + 10);
    CHECK(row == std::vector<unsigned>{48, 48, b % 3, b / 3, 5, 4, 8, 1, 288, 48 * b + 37});
  }
}

TEST_CASE("groups: the barrier of a block", "[groups]") {
  std::vector<int> values(192);
  std::iota(values.begin(), values.end(), 0);
  tutorial::DeviceBuffer<int> device(values);
  reverse<<<3, 64>>>(device.data());
  CUDA_CHECK_LAUNCH();
  const auto got = device.to_host();
  for (int i = 0; i < 192; ++i) CHECK(got[i] == i / 64 * 64 + 63 - i % 64);
}

TEMPLATE_TEST_CASE_SIG("groups: tiles", "[groups]", ((unsigned N), N), 1, 4, 8, 32) {
  constexpr int kThreads = 64, n = static_cast<int>(N);
  const auto got =
      run_kernel<int>(12 * kThreads, [](int* out) { use_tiles<N><<<1, kThreads>>>(out); });
  for (int t = 0; t < kThreads; ++t) {
    const int* const row = &got[12 * t];
    const int rank = t % n, first = t - rank;
    int ballot = 0, same = 0;
    for (int r = 0; r < n; ++r) {
      ballot |= ((first + r) % 3 == 0) << r;
      same |= (r / 2 == rank / 2) << r;
    }
    CAPTURE(N, t);
    CHECK(row[0] == rank);
    CHECK(row[1] == t / n);
    CHECK(row[2] == kThreads / n);
    CHECK(row[3] == first + 1 % n);
    CHECK(row[4] == (rank + 2 < n ? t + 2 : t));
    CHECK(row[5] == (rank >= 1 ? t - 1 : t));
    CHECK(row[6] == first + (rank ^ (n / 2)));
    CHECK((row[7] != 0) == (n > 3));
    CHECK((row[8] != 0) == (n <= 8));
    CHECK(row[9] == ballot);
    CHECK(row[10] == same);
    CHECK(row[11] == n);
  }
}

TEST_CASE("groups: a shuffle of a struct, in a tile of a tile", "[groups]") {
  const auto got = run_kernel<double>(32, [](double* out) { share_structs<<<1, 32>>>(out); });
  for (int t = 0; t < 32; ++t) CHECK(got[t] == 501 * (t / 8 * 8 + 7 - t % 8));
}

TEST_CASE("groups: one function for any group", "[groups]") {
  const auto got = run_kernel<int>(9, [](int* out) { sums_of_groups<<<1, 128>>>(out); });
  CHECK(got[0] == 128 * 129 / 2);
  for (int g = 0; g < 8; ++g) CHECK(got[1 + g] == 16 * (16 * g) + 16 * 17 / 2);
}

TEMPLATE_TEST_CASE("groups: reductions", "[groups]", int, float, double) {
  std::vector<TestType> values(64);
  for (int i = 0; i < 64; ++i) values[i] = static_cast<TestType>((i * 37) % 64 - 20);
  const tutorial::DeviceBuffer<TestType> in(values);
  const auto got = run_kernel<TestType>(
      3 * 64, [&](TestType* out) { reduce_tiles<TestType><<<1, 64>>>(in.data(), out); });
  for (int t = 0; t < 64; ++t) {
    const auto first = values.begin() + t / 16 * 16;
    CHECK(got[3 * t] == std::accumulate(first, first + 16, TestType{0}));
    CHECK(got[3 * t + 1] == *std::min_element(first, first + 16));
    CHECK(got[3 * t + 2] == *std::max_element(first, first + 16));
  }
}

TEST_CASE("groups: reductions of bits", "[groups]") {
  std::vector<unsigned> values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = 0xf0f00000u | (i * 2654435761u >> 12);
  const tutorial::DeviceBuffer<unsigned> in(values);
  const auto got =
      run_kernel<unsigned>(96, [&](unsigned* out) { reduce_bits<<<1, 32>>>(in.data(), out); });
  unsigned all_and = ~0u, all_or = 0, all_xor = 0;
  for (unsigned v : values) all_and &= v, all_or |= v, all_xor ^= v;
  for (int t = 0; t < 32; ++t) {
    CHECK(got[3 * t] == all_and);
    CHECK(got[3 * t + 1] == all_or);
    CHECK(got[3 * t + 2] == all_xor);
  }
}

TEST_CASE("groups: lanes that run together", "[groups]") {
  tutorial::DeviceBuffer<int> counter(std::vector<int>(1, 0)), place(std::vector<int>(64, -1)),
      sizes(std::vector<int>(64, 0));
  count_together<<<1, 64>>>(counter.data(), place.data(), sizes.data());
  CUDA_CHECK_LAUNCH();
  CHECK(counter.to_host()[0] == 11);
  std::vector<bool> taken(11);
  const auto places = place.to_host(), of_group = sizes.to_host();
  for (int t = 0; t < 64; t += 6) {
    REQUIRE(places[t] >= 0);
    REQUIRE(places[t] < 11);
    CHECK_FALSE(taken[places[t]]);
    taken[places[t]] = true;
    CHECK(of_group[t] >= 1);
    CHECK(of_group[t] <= 6);
  }
}

TEST_CASE("groups: parts by a predicate and by a label", "[groups]") {
  const auto got = run_kernel<int>(96, [](int* out) { parts_of_a_tile<<<1, 32>>>(out); });
  for (int t = 0; t < 32; ++t) {
    int sum = 0;
    for (int o = t % 3; o < 32; o += 3) sum += o;
    CHECK(got[3 * t] == (t < 5 ? 5 : 27));
    CHECK(got[3 * t + 1] == sum);
    CHECK(got[3 * t + 2] == t / 3);
  }
}

TEST_CASE("groups: running sums", "[groups]") {
  std::vector<int> values(32);
  for (int i = 0; i < 32; ++i) values[i] = (i * 7) % 11 - 3;
  const tutorial::DeviceBuffer<int> in(values);
  const auto got = run_kernel<int>(64, [&](int* out) { running_sums<<<1, 32>>>(in.data(), out); });
  for (int t = 0, sum = 0; t < 32; ++t) {
    CHECK(got[2 * t + 1] == sum);
    sum += values[t];
    CHECK(got[2 * t] == sum);
  }
}
