// A report names the lines that called the function in which a line stands, up to the kernel's.
#include "common/simulator/tests/only_cpu/callers.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

std::string line(int number) {
  return "callers_test.cu:" + std::to_string(number);
}
/// "   (called in …)", at the end of its line.
std::string called_in(const std::string& callers) {
  return "   (called in " + callers + ")\n";
}

constexpr int kStore = __LINE__ + 2;
__global__ void stores_by_a_header(int* out) {
  store_in_header(out, static_cast<int>(threadIdx.x));
}

constexpr int kHere = __LINE__ + 2;
__device__ KEPT_A_CALL void store_here(int* out, int at) {
  out[at] = 1;
}
constexpr int kRight = __LINE__ + 3, kWrong = __LINE__ + 4;
__global__ void stores_here(int* out) {
  const int at = static_cast<int>(threadIdx.x);
  store_here(out, 0 * at);
  store_here(out, at);
}

/// What the compiler inlines is told in the same way.
constexpr int kInlined = __LINE__ + 2;
__device__ __forceinline__ void store_inlined(int* out, int at) {
  out[at] = 1;
}
constexpr int kOfInlined = __LINE__ + 2;
__global__ void stores_inlined(int* out) {
  store_inlined(out, static_cast<int>(threadIdx.x));
}

constexpr int kMiddle = __LINE__ + 2;
__device__ KEPT_A_CALL void store_twice_removed(int* out, int at) {
  store_in_header(out, at);
}
constexpr int kTwice = __LINE__ + 2;
__global__ void stores_twice_removed(int* out) {
  store_twice_removed(out, static_cast<int>(threadIdx.x));
}

/// Of many callers the first two and the kernel; a function that calls itself in one line, once.
constexpr int kItself = __LINE__ + 4, kEnd = __LINE__ + 2;
__device__ KEPT_A_CALL void store_deep(int* out, int at, int deep) {
  if (deep == 0) store_in_header(out, at);
  // (What follows keeps it from being a loop.)
  if (deep > 0) store_deep(out, at, deep - 1), out[0] = 0;
}
constexpr int kDeep = __LINE__ + 2;
__global__ void stores_deep(int* out, int deep) {
  store_deep(out, static_cast<int>(threadIdx.x), deep);
}

constexpr int kPuts = __LINE__ + 2;
__device__ KEPT_A_CALL void put(int* slots, int at, int value) {
  slots[at] = value;
}
__device__ KEPT_A_CALL int get(const int* slots, int at) {
  return slots[at];
}
constexpr int kPut = __LINE__ + 4, kGet = __LINE__ + 5;
__global__ void races(int* out) {
  __shared__ int slots[32];
  const int me = static_cast<int>(threadIdx.x);
  put(slots, me, me);
  out[me] = get(slots, 31 - me);
}

constexpr int kOwn = __LINE__ + 4, kMeet = __LINE__ + 6;
__global__ void waits_apart() {
  if (threadIdx.x < 32)
    // The barrier of the kernel's own has no callers.
    __syncthreads();
  else
    meet_in_header();
}

constexpr int kVote = __LINE__ + 2;
__device__ KEPT_A_CALL int vote(unsigned mask) {
  return __any_sync(mask, 1);
}
constexpr int kVoted = __LINE__ + 2;
__global__ void mask_without_caller(int* out) {
  out[threadIdx.x] = vote(1u);
}

/// Threads stop in a function that others are in, too, by another way.
constexpr int kEven = __LINE__ + 7, kOdd = __LINE__ + 9;
__device__ KEPT_A_CALL void store_behind_barrier(int* out, int at) {
  __syncthreads();
  out[at] = 1;
}
__global__ void stops_in_a_call(int* out, int even, int odd) {
  if (threadIdx.x % 2 == 0)
    store_behind_barrier(out, static_cast<int>(threadIdx.x) + even);
  else
    store_behind_barrier(out, static_cast<int>(threadIdx.x) + odd);
}

constexpr int kSize = 16;
std::string report_of(void (*launch)(int*)) {
  tutorial::DeviceBuffer<int> out(kSize);
  launch(out.data());
  return Outcome{}.report;
}

}  // namespace

TEST_CASE("a function of a header that is called is followed by its caller", "[checks][callers]") {
  const std::string report = report_of([](int* out) { stores_by_a_header<<<1, kSize + 1>>>(out); });
  CHECK_THAT(report, ContainsSubstring("callers.cuh:9   out[at] = 1;" + called_in(line(kStore))));
}

TEST_CASE("which call of a function it was is told", "[checks][callers]") {
  const std::string report = report_of([](int* out) { stores_here<<<1, kSize + 1>>>(out); });
  const std::string bounds = report.substr(report.find("bounds in"));
  CHECK_THAT(bounds, ContainsSubstring(line(kHere) + "   out[at] = 1;" + called_in(line(kWrong))));
  CHECK_THAT(bounds.substr(0, bounds.find("seen")), !ContainsSubstring(line(kRight)));
}

TEST_CASE("an inlined function's caller is told, in the same file too", "[checks][callers]") {
  const std::string report = report_of([](int* out) { stores_inlined<<<1, kSize + 1>>>(out); });
  CHECK_THAT(report,
             ContainsSubstring(line(kInlined) + "   out[at] = 1;" + called_in(line(kOfInlined))));
}

TEST_CASE("callers of callers are told", "[checks][callers]") {
  const std::string report =
      report_of([](int* out) { stores_twice_removed<<<1, kSize + 1>>>(out); });
  CHECK_THAT(report, ContainsSubstring("callers.cuh:9   out[at] = 1;" +
                                       called_in(line(kMiddle) + ", in " + line(kTwice))));
}

TEST_CASE("a function that calls itself is told once, however deep", "[checks][callers]") {
  for (const int deep : {3, 12}) {
    tutorial::DeviceBuffer<int> out(kSize);
    stores_deep<<<1, kSize + 1>>>(out.data(), deep);
    CHECK_THAT(Outcome{}.report, ContainsSubstring("callers.cuh:9   out[at] = 1;" +
                                                   called_in(line(kEnd) + ", in " + line(kItself) +
                                                             ", in " + line(kDeep))));
  }
  tutorial::DeviceBuffer<int> out(kSize);
  stores_deep<<<1, kSize + 1>>>(out.data(), 100);  // deeper than what is kept
  CHECK_THAT(Outcome{}.report, ContainsSubstring("callers.cuh:9   out[at] = 1;"));
}

TEST_CASE("both sides of a race have their callers", "[checks][callers]") {
  tutorial::DeviceBuffer<int> out(32);
  races<<<1, 32>>>(out.data());
  const std::string report = Outcome{}.report;
  const std::string race = report.substr(report.find("race in"));
  CHECK_THAT(race,
             ContainsSubstring(line(kPuts) + "   slots[at] = value;" + called_in(line(kPut))));
  CHECK_THAT(race, ContainsSubstring("return slots[at];" + called_in(line(kGet))));
}

TEST_CASE("threads that wait for each other: what called a barrier's function",
          "[checks][callers]") {
  waits_apart<<<1, 64>>>();
  const std::string report = Outcome{}.report;
  CHECK_THAT(report, ContainsSubstring("32 threads wait at __syncthreads()  callers.cuh:12   "
                                       "__syncthreads();   (called in " +
                                       line(kMeet) + ")"));
  CHECK_THAT(report, ContainsSubstring(line(kOwn) + "   __syncthreads();  first: thread (0,0)"));
}

TEST_CASE("an operation of a warp has its callers", "[checks][callers]") {
  tutorial::DeviceBuffer<int> out(32);
  mask_without_caller<<<1, 32>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring(line(kVote) + "   return __any_sync(mask, 1);" +
                                                 "   (called in " + line(kVoted) + ")"));
}

TEST_CASE("the calls are each thread's own", "[checks][callers]") {
  tutorial::DeviceBuffer<int> out(kSize);
  stops_in_a_call<<<1, kSize>>>(out.data(), 0, kSize);
  const std::string odd = Outcome{}.report;
  CHECK_THAT(odd, ContainsSubstring("(called in " + line(kOdd) + ")"));
  CHECK_THAT(odd, !ContainsSubstring(line(kEven)));
  stops_in_a_call<<<1, kSize>>>(out.data(), kSize, 0);
  const std::string even = Outcome{}.report;
  CHECK_THAT(even, ContainsSubstring("(called in " + line(kEven) + ")"));
  CHECK_THAT(even, !ContainsSubstring(line(kOdd)));
}
