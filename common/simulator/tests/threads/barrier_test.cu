// __syncthreads() and its kin that vote.
#include "common/simulator/tests/run_kernel.hpp"

namespace {

/// Each thread reads what every other thread of its block wrote, twice.
__global__ void sum_of_all(int* out) {
  __shared__ int values[1024];
  const int me = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    values[me] = me + round;
    __syncthreads();
    for (int i = 0; i < size; ++i) sum += values[(me + i) % size];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__device__ void barrier_in_function(int* slot) {
  __syncthreads();
  if (threadIdx.x == 0) *slot += 1;
  __syncthreads();
}

__global__ void rounds(int count, int* out) {
  __shared__ int slot;
  if (threadIdx.x == 0) slot = 0;
  for (int i = 0; i < count; ++i) barrier_in_function(&slot);
  out[threadIdx.x] = slot;
}

/// The lower half does more work than the upper between the barriers.
__global__ void halve(int* values) {
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) values[threadIdx.x] += values[threadIdx.x + stride];
    __syncthreads();
  }
}

struct Votes {
  int count, all, any;
};
/// The predicate is any nonzero int, true for thread t where t % period < hits.
__global__ void votes(int period, int hits, Votes* out) {
  const int t = static_cast<int>(threadIdx.x + blockDim.x * threadIdx.y);
  const int predicate = t % period < hits ? t - 1000 : 0;
  Votes& mine = out[t];
  mine.count = __syncthreads_count(predicate);
  mine.all = __syncthreads_and(predicate);
  mine.any = __syncthreads_or(predicate);
}

}  // namespace

TEST_CASE("a barrier shows each thread what the others wrote", "[barrier]") {
  for (const int threads : {1, 2, 31, 32, 33, 100, 1024}) {
    const auto got =
        run_kernel<int>(3 * threads, [&](int* out) { sum_of_all<<<3, threads>>>(out); });
    CHECK(got == std::vector<int>(3 * threads, threads * (threads - 1) + threads));
  }
}

TEST_CASE("barriers in a loop and in a function", "[barrier]") {
  for (const int count : {1, 7}) {
    const auto got = run_kernel<int>(65, [&](int* out) { rounds<<<1, 65>>>(count, out); });
    CHECK(got == std::vector<int>(65, count));
  }
}

TEST_CASE("a tree of sums", "[barrier]") {
  tutorial::DeviceBuffer<int> values(std::vector<int>(1024, 3));
  halve<<<1, 1024>>>(values.data());
  CUDA_CHECK_LAUNCH();
  CHECK(values.to_host()[0] == 3 * 1024);
}

TEST_CASE("__syncthreads_count, _and, _or", "[barrier]") {
  for (const dim3 block : {dim3(1), dim3(40), dim3(16, 16), dim3(5, 7)})
    for (const auto& [period, hits] :
         {std::pair{1, 1}, {1, 0}, {2, 1}, {3, 2}, {1000, 1}, {1000, 39}}) {
      const int threads = static_cast<int>(block.x * block.y);
      const auto got =
          run_kernel<Votes>(threads, [&](Votes* out) { votes<<<1, block>>>(period, hits, out); });
      int count = 0;
      for (int t = 0; t < threads; ++t) count += t % period < hits;
      for (const Votes& thread : got) {
        CHECK(thread.count == count);
        CHECK((thread.all != 0) == (count == threads));
        CHECK((thread.any != 0) == (count > 0));
      }
    }
}
