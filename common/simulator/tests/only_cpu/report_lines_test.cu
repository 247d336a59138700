// One report for each pair of lines, however many instructions a line has; a limit; the causes.
#include "common/backend/backend.hpp"
#include "common/kernel/reduce.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"

using Catch::Matchers::StartsWith;

namespace {

std::string line(int number) {
  return "report_lines_test.cu:" + std::to_string(number) + "   ";
}

/// Several instructions in each of two lines.
constexpr int kWrites = __LINE__ + 5, kReads = __LINE__ + 7;
template <bool RIGHT>
__global__ void several_a_line(int* out) {
  __shared__ int a[32], b[32];
  const int me = threadIdx.x;
  a[me] = me, a[(me + 8) % 32] = me, a[(me + 16) % 32] = me;
  if (RIGHT) __syncthreads();
  b[threadIdx.x] = a[31 - threadIdx.x] + a[(threadIdx.x + 1) % 32] + a[threadIdx.x ^ 5];
  out[threadIdx.x] = b[threadIdx.x];
}

/// Twelve lines that read what nobody wrote.
__global__ void many_lines(const int* in, int* out) {
  out[0] = in[0];
  out[1] = in[1];
  out[2] = in[2];
  out[3] = in[3];
  out[4] = in[4];
  out[5] = in[5];
  out[6] = in[6];
  out[7] = in[7];
  out[8] = in[8];
  out[9] = in[9];
  out[10] = in[10];
  out[11] = in[11];
}

/// The loop comes back to the load before all have read.
constexpr int kLoad = __LINE__ + 6, kUse = __LINE__ + 8;
template <bool RIGHT>
__global__ void loop_comes_back(const int* in, int* out) {
  __shared__ int tile[64];
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = in[64 * round + threadIdx.x];
    __syncthreads();
    sum += tile[63 - threadIdx.x];
    if (RIGHT) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

/// Of two blocks, each writes with another line.
constexpr int kEven = __LINE__ + 5, kOdd = __LINE__ + 7;
__global__ void writes_in_two_lines(int* out, char* bytes) {
  const unsigned i = blockIdx.y * 32 + threadIdx.y * 8 + threadIdx.x;
  bytes[i] = 1;
  if (blockIdx.y == 0)
    out[i] = 1;
  else
    out[i] = 2;
}

/// A header's function, which the compiler puts into the one line that calls it.
constexpr int kCall = __LINE__ + 5;
__global__ void calls_a_header(const float* in, float* out) {
  __shared__ float slots[2];
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    sum += tutorial::block_sum(in[64 * round + threadIdx.x], slots);
  }
  out[threadIdx.x] = sum;
}

__global__ void reads_and_writes_in_a_line(int* out) {
  __shared__ int slots[64];
  slots[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < 63) slots[threadIdx.x] += slots[threadIdx.x + 1];
  __syncthreads();
  out[threadIdx.x] = slots[threadIdx.x];
}
__global__ void one_place(int* out) {
  out[threadIdx.x / 2] = static_cast<int>(threadIdx.x);
}
__global__ void half_atomic(int* out) {
  if (threadIdx.x == 40)
    out[0] = 1;
  else
    atomicAdd(out, 1);
}
__global__ void next_block_reads(int* data, int* out) {
  data[blockIdx.x] = 1;
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

}  // namespace

TEST_CASE("instructions of the same two lines make one report", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  several_a_line<true><<<1, 32>>>(out.data());
  const Outcome right;
  CHECK(count_of(right.report, "race in") == 1);
  CHECK_THAT(right.report, ContainsSubstring("likely: two threads write the same element"));
  several_a_line<false><<<1, 32>>>(out.data());
  const Outcome wrong;
  CHECK(count_of(wrong.report, "race in") == 2);     // write and write, write and read
  CHECK(count_of(wrong.report, line(kReads)) == 2);  // also read before it was written
  CHECK(count_of(wrong.report, line(kWrites)) == 3);
  CHECK_THAT(wrong.report, !ContainsSubstring("more pair"));
}

TEST_CASE("a header's line is followed by the line that called it", "[checks]") {
  tutorial::DeviceBuffer<float> in(std::vector<float>(192, 1)), out(64);
  calls_a_header<<<1, 64>>>(in.data(), out.data());
  const Outcome outcome;
  const std::string call = "(called in report_lines_test.cu:" + std::to_string(kCall) + ")\n";
  CHECK_THAT(outcome.report, ContainsSubstring("race in calls_a_header, shared memory slots["));
  CHECK_THAT(outcome.report, ContainsSubstring("slots[warp] = value;   " + call));
  CHECK(count_of(outcome.report, call) == 2);
}

TEST_CASE("the last kernel that wrote an element is known, its thread and its line", "[checks]") {
  const Restored restored;
  tutorial::DeviceBuffer<int> out(64);
  tutorial::DeviceBuffer<char> bytes(64);
  CHECK(tutorial::last_writer(out.data()).empty());  // never written
  writes_in_two_lines<<<dim3(1, 2), dim3(8, 4)>>>(out.data(), bytes.data());
  CHECK(Outcome{}.error == cudaSuccess);
  const auto ends = [](int number) { return line(number) + "out["; };
  CHECK_THAT(tutorial::last_writer(out.data() + 3),
             StartsWith("block (0,0) thread (3,0)  " + ends(kEven)));
  CHECK_THAT(tutorial::last_writer(out.data() + 32 + 17),
             StartsWith("block (0,1) thread (1,2)  " + ends(kOdd)));
  CHECK_THAT(tutorial::last_writer(bytes.data() + 33), StartsWith("block (0,1) thread (1,0)"));
  simulator::switch_checks(false);  // what is known may be old from now on
  CHECK(tutorial::last_writer(out.data() + 3).empty());
}

TEST_CASE("ten reports of a launch are given, and the number of the others", "[checks]") {
  tutorial::DeviceBuffer<int> in(12), out(12);
  many_lines<<<1, 1>>>(in.data(), out.data());
  const Outcome outcome;
  CHECK(count_of(outcome.report, "init in") == 10);
  CHECK_THAT(outcome.report, ContainsSubstring("\nand 2 more pairs of lines with findings"));
}

TEST_CASE("a report tells the likely cause of a race", "[checks]") {
  tutorial::DeviceBuffer<int> in(std::vector<int>(192, 1)), out(std::vector<int>(64, 0));
  loop_comes_back<true><<<1, 64>>>(in.data(), out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  loop_comes_back<false><<<1, 64>>>(in.data(), out.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("missing after line " + std::to_string(kUse) +
                               ", before the loop comes back to line " + std::to_string(kLoad)));
  reads_and_writes_in_a_line<<<1, 64>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("reads what another one writes in the same line"));
  one_place<<<1, 64>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("two threads write the same element"));
  half_atomic<<<1, 64>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("only one of the two lines uses an atomic"));
  next_block_reads<<<64, 1>>>(in.data(), out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("a block reads what another one writes"));
}
