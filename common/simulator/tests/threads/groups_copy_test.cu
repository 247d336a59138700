// Cooperative groups: copies to shared memory by all threads of a group.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace cg = cooperative_groups;

namespace {

/// Stages `count` floats, from `skip` on, in shared memory and reverses them.
__global__ void reverse_staged(const float* in, int skip, int count, float* out) {
  extern __shared__ float staged[];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, staged, in + skip, sizeof(float) * static_cast<size_t>(count));
  cg::wait(block);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    out[i] = staged[count - 1 - i];
}

/// While a tile of warps works on one half, the next is on its way.
__global__ void two_stages(const int* in, int parts, int* out) {
  __shared__ int stages[2][64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, stages[0], 64, in, 64);
  int sum = 0;
  for (int p = 0; p < parts; ++p) {
    const int left = p + 1 < parts ? 64 : 0;
    cg::memcpy_async(block, stages[(p + 1) % 2], left, in + 64 * (p + 1), left);
    cg::wait_prior<1>(block);
    sum += stages[p % 2][63 - threadIdx.x];
    block.sync();
  }
  cg::wait(block);
  out[threadIdx.x] = sum;
}

__global__ void by_tiles(const char* in, char* out) {
  __shared__ char staged[2][32 * 7];
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  char* const mine = staged[tile.meta_group_rank()];
  cg::memcpy_async(tile, mine, in + 224 * tile.meta_group_rank() + 1, 223);  // bytes, unaligned
  cg::wait(tile);
  for (unsigned i = tile.thread_rank(); i < 223; i += 32)
    out[223 * tile.meta_group_rank() + i] = mine[222 - i];
}

}  // namespace

TEST_CASE("groups: a copy by a block", "[groups]") {
  std::vector<float> values(300);
  std::iota(values.begin(), values.end(), 0.0f);
  const tutorial::DeviceBuffer<float> in(values);
  for (const int skip : {0, 1, 2})
    for (const int count : {0, 1, 64, 129, 256}) {
      const auto got = run_kernel<float>(
          count, [&](float* out) { reverse_staged<<<1, 96, 1024>>>(in.data(), skip, count, out); });
      for (int i = 0; i < count; ++i) CHECK(got[i] == static_cast<float>(skip + count - 1 - i));
    }
}

TEST_CASE("groups: copies in two stages", "[groups]") {
  std::vector<int> values(64 * 5);
  for (int i = 0; i < 320; ++i) values[i] = i * i % 101;
  const tutorial::DeviceBuffer<int> in(values);
  const auto got = run_kernel<int>(64, [&](int* out) { two_stages<<<1, 64>>>(in.data(), 5, out); });
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int p = 0; p < 5; ++p) sum += values[64 * p + 63 - t];
    CHECK(got[t] == sum);
  }
}

TEST_CASE("groups: copies by tiles, of bytes", "[groups]") {
  std::vector<char> values(448);
  for (int i = 0; i < 448; ++i) values[i] = static_cast<char>(i % 97);
  const tutorial::DeviceBuffer<char> in(values);
  const auto got = run_kernel<char>(446, [&](char* out) { by_tiles<<<1, 64>>>(in.data(), out); });
  for (int i = 0; i < 446; ++i) CHECK(got[i] == values[224 * (i / 223) + 223 - i % 223]);
}
