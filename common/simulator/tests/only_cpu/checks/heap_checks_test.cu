// The checks on memory that kernels take for themselves.
#include <cstdlib>

#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

constexpr int kStepLine = __LINE__ + 3;
__global__ void steps_out(int* out, int by) {
  int* const values = new int[4];
  values[by] = 1;
  out[0] = values[0];
  delete[] values;
}
constexpr int kFreedLine = __LINE__ + 6;
__global__ void uses_freed(int* out) {
  __shared__ int* volatile value;  // or the compiler would see through it, and warn
  value = static_cast<int*>(malloc(sizeof(int)));
  *value = 5;
  free(value);
  out[0] = *value;
}
constexpr int kTwiceLine = __LINE__ + 6;
__global__ void frees_twice(int* out) {
  __shared__ int* value;
  value = new int(3);
  out[0] = *value;
  delete value;
  delete value;
}
__global__ void races(int* out) {
  __shared__ int* shared;
  if (threadIdx.x == 0) shared = new int[2];
  __syncthreads();
  shared[0] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = shared[0];
    delete[] shared;
  }
}
/// Each thread gets what another one has given back, perhaps: that is no race.
__global__ void in_turn(int* out) {
  for (int i = 0; i < 8; ++i) {
    int* const value = new int(i);
    out[threadIdx.x] = *value;
    delete value;
  }
}

std::string line(int number) {
  return "heap_checks_test.cu:" + std::to_string(number) + "   ";
}

}  // namespace

TEST_CASE("heap: reads before a write and steps out of a block are reported", "[checks]") {
  tutorial::DeviceBuffer<int> out(1);
  steps_out<<<1, 1>>>(out.data(), 1);
  const Outcome unwritten;
  CHECK(unwritten.error == cudaErrorLaunchFailure);
  CHECK_THAT(unwritten.report, ContainsSubstring("init in steps_out"));
  steps_out<<<1, 1>>>(out.data(), 0);
  CHECK(Outcome{}.error == cudaSuccess);
  steps_out<<<1, 1>>>(out.data(), 4);
  const Outcome outcome;
  CHECK(outcome.error == cudaErrorIllegalAddress);
  CHECK_THAT(outcome.report, ContainsSubstring("bounds in steps_out"));
  CHECK_THAT(outcome.report, ContainsSubstring(line(kStepLine)));
  CHECK_THAT(outcome.report,
             ContainsSubstring("0 bytes past the end of an allocation of 16 bytes"));
}

TEST_CASE("heap: freed memory is called so, and freeing twice is reported", "[checks]") {
  tutorial::DeviceBuffer<int> out(1);
  uses_freed<<<1, 1>>>(out.data());
  const Outcome freed;
  CHECK(freed.error == cudaErrorIllegalAddress);
  CHECK_THAT(freed.report, ContainsSubstring("freed memory: 0 bytes into an allocation of 4"));
  CHECK_THAT(freed.report, ContainsSubstring(line(kFreedLine)));
  frees_twice<<<1, 1>>>(out.data());
  const Outcome twice;
  CHECK(twice.error == cudaErrorIllegalAddress);
  CHECK_THAT(twice.report, ContainsSubstring("no live memory of the kernels' heap"));
  CHECK_THAT(twice.report, ContainsSubstring(line(kTwiceLine)));
}

TEST_CASE("heap: races are seen, and none where there are none", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  races<<<1, 64>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in races"));
  in_turn<<<1, 64>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
}
