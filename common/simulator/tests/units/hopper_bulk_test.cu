// Numbers that the TMA unit stores and adds without a tensor map.
#include "common/compare/compare.hpp"
#include "common/kernel/bulk.cuh"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

constexpr int MOST = 4096;  // numbers of a row

std::vector<float> random_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

/// A block's row to shared memory, shown to the TMA unit.
__device__ void bring(float* numbers, const float* row, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    numbers[i] = row[i];
  fence_async_proxy();
  __syncthreads();
}

/// Each block adds its row to the sums, as they come.
__global__ void adds(float* sums, const float* rows, int count) {
  __shared__ __align__(16) float numbers[MOST];
  bring(numbers, rows + int64_t{blockIdx.x} * count, count);
  if (threadIdx.x != 0) return;
  bulk_add(sums, numbers, count);
  tma_commit();
  tma_wait<0>();
}

/// Block 0 stores its row, block 1 adds its own when that has come, and so on.
__global__ void adds_in_turn(float* sums, const float* rows, int count, unsigned* turn) {
  __shared__ __align__(16) float numbers[MOST];
  bring(numbers, rows + int64_t{blockIdx.x} * count, count);
  if (threadIdx.x != 0) return;
  while (atomicAdd(turn, 0u) != blockIdx.x) {
  }
  __threadfence();
  if (blockIdx.x == 0)
    bulk_store(sums, numbers, count);
  else
    bulk_add(sums, numbers, count);
  tma_commit();
  tma_wait<0>();
  __threadfence();
  atomicAdd(turn, 1u);
}

/// A warp stores 64 numbers of the first row, and then adds those of the others. Rows go through
/// two places in turn, of which the last one may still be read while the other is written.
__global__ void adds_from_two_places(float* sums, const float* rows, int count) {
  __shared__ __align__(16) float numbers[2][64];
  const int lane = static_cast<int>(threadIdx.x);
  for (int row = 0; row < count; ++row) {
    if (lane == 0) tma_wait_read<1>();
    __syncwarp();
    for (int i = lane; i < 64; i += 32) numbers[row % 2][i] = rows[64 * row + i];
    fence_async_proxy();
    __syncwarp();
    if (lane != 0) continue;
    if (row == 0)
      bulk_store(sums, numbers[0], 64);
    else
      bulk_add(sums, numbers[row % 2], 64);
    tma_commit();
    if (row == 0) tma_wait<0>();  // what is added to
  }
  if (lane == 0) tma_wait<0>();
}

/// How many of the sums of `rows` rows (and of what was there, if anything was) are out of bound.
int wrong_sums(const std::vector<float>& got, const std::vector<float>& rows, size_t count,
               const std::vector<float>& before = {}) {
  int wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    double sum = before.empty() ? 0 : before[i], magnitude = std::abs(sum);
    for (size_t at = i; at < rows.size(); at += count) {
      sum += rows[at];
      magnitude += std::abs(rows[at]);
    }
    const double bound = gamma_bound(static_cast<int64_t>(rows.size() / count)) * magnitude;
    wrong += !matches(got[i], sum, bound);
  }
  return wrong;
}

}  // namespace

TEST_CASE("bulk: blocks add rows to what is there", "[hopper]") {
  need_sm_90a();
  for (const int count : {4, 12, 64, 1000, MOST})
    for (const int blocks : {1, 2, 37}) {
      INFO(count << " numbers, " << blocks << " blocks");
      const std::vector<float> rows = random_numbers(int64_t{count} * blocks, 1);
      const std::vector<float> before = random_numbers(count + 4, 2);
      const DeviceBuffer<float> in(rows);
      DeviceBuffer<float> sums(before);
      adds<<<static_cast<unsigned>(blocks), 64>>>(sums.data(), in.data(), count);
      CUDA_CHECK_LAUNCH();
      const std::vector<float> got = sums.to_host();
      CHECK(wrong_sums(got, rows, static_cast<size_t>(count), before) == 0);
      CHECK(std::equal(got.begin() + count, got.end(), before.begin() + count));
      CHECK(sums.guards_intact());
    }
}

TEST_CASE("bulk: sums begin anywhere at a multiple of 16 bytes", "[hopper]") {
  need_sm_90a();
  const std::vector<float> rows = random_numbers(8, 1), before = random_numbers(24, 2);
  const DeviceBuffer<float> in(rows);
  for (const int at : {0, 4, 8, 12, 16}) {
    DeviceBuffer<float> sums(before);
    adds<<<1, 32>>>(sums.data() + at, in.data(), 8);
    CUDA_CHECK_LAUNCH();
    const std::vector<float> got = sums.to_host();
    int wrong = 0;
    for (int i = 0; i < 24; ++i)
      wrong += got[i] != (i < at || i >= at + 8 ? before[i] : before[i] + rows[i - at]);
    INFO("from number " << at << " on");
    CHECK(wrong == 0);
  }
}

TEST_CASE("bulk: the first block stores, and the others add in turn", "[hopper]") {
  need_sm_90a();
  for (const int count : {4, 260, MOST})
    for (const int blocks : {1, 2, 9}) {
      INFO(count << " numbers, " << blocks << " blocks");
      const std::vector<float> rows = random_numbers(int64_t{count} * blocks, 3);
      const DeviceBuffer<float> in(rows);
      DeviceBuffer<unsigned> turn(std::vector<unsigned>{0});
      const std::vector<float> got = run_kernel<float>(count, [&](float* sums) {
        adds_in_turn<<<static_cast<unsigned>(blocks), 64>>>(sums, in.data(), count, turn.data());
      });
      CHECK(wrong_sums(got, rows, static_cast<size_t>(count)) == 0);
      int wrong = 0;  // in their order they have these bits
      for (int i = 0; i < count; ++i) {
        float sum = rows[i];
        for (int block = 1; block < blocks; ++block) sum += rows[block * count + i];
        wrong += got[i] != sum;
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("bulk: a place is written again when it has been read", "[hopper]") {
  need_sm_90a();
  for (const int count : {1, 2, 3, 10}) {
    INFO(count << " rows");
    const std::vector<float> rows = random_numbers(64 * count, 4);
    const DeviceBuffer<float> in(rows);
    const std::vector<float> got = run_kernel<float>(
        64, [&](float* sums) { adds_from_two_places<<<1, 32>>>(sums, in.data(), count); });
    CHECK(wrong_sums(got, rows, 64) == 0);
  }
}
