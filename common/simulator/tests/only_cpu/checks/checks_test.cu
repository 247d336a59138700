// Faults planted on purpose: the checks must name each, with its lines, and say nothing of right
// code.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/device/report.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kRaceWrite = __LINE__ + 4, kRaceRead = __LINE__ + 6;
template <bool BARRIER>
__global__ void neighbours(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  if (BARRIER) __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];
}

template <bool ORDERED>
__global__ void within_a_warp(int* out) {
  __shared__ int slot[32];
  slot[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (ORDERED) __syncwarp();
  out[threadIdx.x] = slot[threadIdx.x ^ 1];
}

/// The halves of the warp are ordered by themselves only.
__global__ void across_halves(int* out) {
  __shared__ int slot[32];
  slot[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u);
  out[threadIdx.x] = slot[threadIdx.x ^ 16];
}

/// All blocks race, the first one last.
__global__ void first_block_is_late(int* out, int turns) {
  __shared__ int slot;
  for (int i = 0; blockIdx.x == 0 && i < turns; ++i) out[0] += i;
  slot = static_cast<int>(threadIdx.x);
  out[1 + blockIdx.x] = slot;
}

__global__ void blocks_write_one_place(int* out) {
  out[0] = static_cast<int>(blockIdx.x);
}
__global__ void blocks_add(int* out) {
  atomicAdd(out, 1);
}
__global__ void own_bytes(unsigned char* out) {
  out[threadIdx.x] = 1;
}

__global__ void reads_unwritten_shared(int* out) {
  __shared__ int tile[32];
  if (threadIdx.x > 0) tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void copies(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void copies_float4(const float4* in, float4* out) {
  out[threadIdx.x] = in[threadIdx.x];
}

__global__ void past_dynamic(int* out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x];
}

/// With `past` 0 it stays inside; with 1 it reads the first element of the array behind.
__global__ void runs_into_the_next_array(int* out, int past) {
  __shared__ int first[4][8];
  __shared__ int second[8];
  for (int i = 0; i < 4; ++i) first[i][threadIdx.x] = 1;
  second[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = first[3][threadIdx.x + past] + second[threadIdx.x];
}

/// The error and the report of the launch just made.
struct Outcome {
  cudaError_t error = cudaGetLastError();
  std::string report = error == cudaSuccess ? "" : simulator::last_report();
};

}  // namespace

TEST_CASE("a missing __syncthreads is a race, with both lines", "[checks]") {
  tutorial::DeviceBuffer<int> in(std::vector<int>(64, 1)), out(64);
  neighbours<true><<<3, 64>>>(in.data(), out.data() + 0);
  CHECK(Outcome{}.error == cudaSuccess);  // three blocks write the same values to the same places

  neighbours<false><<<1, 64>>>(in.data(), out.data());
  const Outcome wrong;
  CHECK(wrong.error == cudaErrorLaunchFailure);
  CHECK_THAT(wrong.report, ContainsSubstring("race in neighbours<false>, shared memory tile["));
  CHECK_THAT(wrong.report, ContainsSubstring("a __syncthreads() is missing between these lines") ||
                               ContainsSubstring("a __syncwarp()) is missing between these lines"));
  CHECK_THAT(wrong.report, ContainsSubstring("checks_test.cu:" + std::to_string(kRaceWrite)));
  CHECK_THAT(wrong.report, ContainsSubstring("checks_test.cu:" + std::to_string(kRaceRead)));
}

TEST_CASE("a warp's operation orders the lanes that it names", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  within_a_warp<true><<<1, 32>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  within_a_warp<false><<<1, 32>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in within_a_warp<false>"));
  across_halves<<<1, 32>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in across_halves"));
}

TEST_CASE("blocks that write one place race, unless by atomics", "[checks]") {
  tutorial::DeviceBuffer<int> out(std::vector<int>(1, 0));
  blocks_write_one_place<<<2, 1>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("nothing orders two blocks of one launch"));
  blocks_add<<<20, 64>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  tutorial::DeviceBuffer<unsigned char> bytes(64);
  own_bytes<<<1, 64>>>(bytes.data());
  CHECK(Outcome{}.error == cudaSuccess);
}

TEST_CASE("a report is of the first block, whoever comes first", "[checks]") {
  tutorial::DeviceBuffer<int> out(std::vector<int>(17, 0));
  for (const int turns : {0, 100'000}) {
    first_block_is_late<<<16, 32>>>(out.data(), turns);
    const Outcome outcome;
    CHECK(outcome.error == cudaErrorLaunchFailure);
    CHECK_THAT(outcome.report, ContainsSubstring("written by block (0,0) thread (0,0)"));
    CHECK_THAT(outcome.report, !ContainsSubstring("block (1,0)"));
  }
}

TEST_CASE("reads of what nobody wrote are reported", "[checks]") {
  tutorial::DeviceBuffer<int> unwritten(64), out(64);
  reads_unwritten_shared<<<1, 32>>>(out.data());
  const Outcome shared;
  CHECK_THAT(shared.report, ContainsSubstring("init in reads_unwritten_shared"));
  CHECK_THAT(shared.report, ContainsSubstring("seen 1 time"));
  copies<<<1, 32>>>(unwritten.data(), out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("init in copies"));
  copies<<<1, 32>>>(out.data(), unwritten.data());
  CHECK(Outcome{}.error == cudaSuccess);

  tutorial::DeviceBuffer<float4> fours(2), result(2);
  CUDA_CHECK(cudaMemset(fours.data(), 0, 28));  // all but the last float
  copies_float4<<<1, 2>>>(fours.data(), result.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("init in copies_float4"));
}

TEST_CASE("one element past the end is out of bounds", "[checks]") {
  int *in = nullptr, *out = nullptr;
  CUDA_CHECK(cudaMalloc(&in, 31 * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&out, 32 * sizeof(int)));
  CUDA_CHECK(cudaMemset(in, 0, 31 * sizeof(int)));
  copies<<<1, 32>>>(in, out);
  const Outcome read;
  CHECK(read.error == cudaErrorIllegalAddress);
  CHECK_THAT(read.report, ContainsSubstring("0 bytes past the end of an allocation of 124 bytes"));
  past_dynamic<<<1, 32, 31 * sizeof(int)>>>(out);
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("shared memory tile[31]: byte 124 of 124 bytes of dynamic"));
  runs_into_the_next_array<<<1, 8>>>(out, 0);
  CHECK(Outcome{}.error == cudaSuccess);
  runs_into_the_next_array<<<1, 8>>>(out, 1);
  CHECK_THAT(Outcome{}.report, ContainsSubstring("index 8 is outside an array 'int [8]'"));
  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
}
