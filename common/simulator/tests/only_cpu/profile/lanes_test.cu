// Operations of a warp that some lanes of the mask do not come to, or whose value is nobody's.
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

constexpr unsigned kAll = 0xffffffffu;

std::string line(int number) {
  return "lanes_test.cu:" + std::to_string(number) + "   ";
}

/// The upper half waits for the block, the lower one for the whole warp.
constexpr int kVote = __LINE__ + 4, kBarrier = __LINE__ + 6;
template <unsigned MASK>
__global__ void halves_part(int* out) {
  if (threadIdx.x % 32 < 16) {
    out[threadIdx.x] = __any_sync(MASK, 1);
  } else {
    __syncthreads();
  }
  if (threadIdx.x % 32 < 16) __syncthreads();
}

/// Lanes from `count` on leave; the others add up by rounds.
constexpr int kDown = __LINE__ + 5;
__global__ void sum_of_some(int count, int rounds, int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= count) return;
  int sum = 1;
  for (int step = 1; step <= rounds; step *= 2) sum += __shfl_down_sync(kAll, sum, step);
  out[lane] = sum;
}

constexpr int kFromOther = __LINE__ + 3;
__global__ void from_outside_the_mask(unsigned mask, int source, int* out) {
  if (mask >> threadIdx.x & 1)
    out[threadIdx.x] = __shfl_sync(mask, static_cast<int>(threadIdx.x), source);
}

/// Some lanes give another mask than the others.
__global__ void two_masks(int* out) {
  const unsigned mask = threadIdx.x < 4 ? kAll : 0xfffffff0u;
  __syncwarp(mask);
  out[threadIdx.x] = 1;
  if (threadIdx.x >= 4) __syncthreads();
}

}  // namespace

TEST_CASE("lanes that a mask names and that wait elsewhere are told", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  halves_part<0xffffu><<<1, 32>>>(out.data());
  const Outcome different_lines;  // the barriers, too, stand in two lines
  CHECK_THAT(different_lines.report, ContainsSubstring("16 threads wait at __syncthreads()"));
  CHECK_THAT(different_lines.report, !ContainsSubstring("missing"));
  halves_part<kAll><<<1, 32>>>(out.data());
  const Outcome outcome;
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring("16 threads wait at a vote  " + line(kVote)));
  CHECK_THAT(outcome.report, ContainsSubstring("for the lanes 0xffffffff"));
  CHECK_THAT(
      outcome.report,
      ContainsSubstring("missing of warp 0: lanes 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, "
                        "27, 28, 29, 30, 31, which wait at __syncthreads()  " +
                        line(kBarrier)));
  two_masks<<<1, 32>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("lanes 4, 5, 6"));
}

TEST_CASE("the value of a lane that does not take part is nobody's", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  sum_of_some<<<1, 32>>>(32, 16, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  sum_of_some<<<1, 32>>>(20, 1, out.data());
  const Outcome left;
  CHECK(left.error == cudaErrorLaunchFailure);
  CHECK_THAT(left.report,
             ContainsSubstring("barrier in sum_of_some\n  shuffle by block (0,0) thread "
                               "(19,0)  " +
                               line(kDown)));
  CHECK_THAT(left.report,
             ContainsSubstring("takes the value of lane 20, which does not take part: it "
                               "has left the kernel"));
  sum_of_some<<<1, 20>>>(20, 16, out.data());
  const Outcome never_was;
  CHECK(count_of(never_was.report, "barrier in") == 1);
  CHECK_THAT(never_was.report, ContainsSubstring("the block has no such thread"));
  from_outside_the_mask<<<1, 32>>>(0xffu, 7, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  from_outside_the_mask<<<1, 32>>>(0xffu, 8, out.data());
  const Outcome outside;
  CHECK_THAT(outside.report, ContainsSubstring(line(kFromOther)));
  CHECK_THAT(outside.report, ContainsSubstring("the mask does not name it"));
  CHECK_THAT(outside.report, ContainsSubstring("seen 8 times"));
}
