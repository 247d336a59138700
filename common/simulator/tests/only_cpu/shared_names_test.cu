// The element that a report names, and steps out of __shared__ arrays by pointers.
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

struct Pair {
  float weight;
  int tag;
};

/// Reads one element of each kind of array that nobody wrote.
template <class T, int ROWS, int COLS>
__global__ void unwritten(int row, int col, T* out) {
  __shared__ T plain[ROWS][COLS], other[ROWS * COLS];
  __shared__ Pair pairs[ROWS];
  __shared__ T single;
  out[0] = plain[row][col];
  out[1] = other[row * COLS + col];
  out[2] = pairs[row].tag;
  out[3] = single;
}
__global__ void unwritten_dynamic(int* out) {
  extern __shared__ int tile[][5];
  out[0] = tile[2][3];
}

__global__ void second_tag(const Pair* in, int* out) {
  out[0] = in[1].tag;
}

__device__ int in_a_function(int at) {
  __shared__ int own[8];
  return own[at];
}
__global__ void calls_it(int* out) {
  out[0] = in_a_function(3);
}

/// Steps from `first` by a pointer; 0 … 31 is inside.
constexpr int kStep = __LINE__ + 8;
__global__ void steps(int by, int* out) {
  __shared__ int first[4][8];
  __shared__ int second[32];
  first[threadIdx.x / 8][threadIdx.x % 8] = 1;
  second[threadIdx.x] = 2;
  __syncthreads();
  const int* p = &first[0][0];
  if (threadIdx.x == 0) out[0] = p[by];
}
/// The same towards the array of a kernel that is not running.
__global__ void has_a_neighbour(int* out) {
  __shared__ int neighbour[1000];
  for (int i = 0; i < 1000; ++i) neighbour[i] = i;
  out[0] = neighbour[999];
  out[1] = static_cast<int>(reinterpret_cast<intptr_t>(&neighbour[0]) >> 32);
  out[2] = static_cast<int>(reinterpret_cast<intptr_t>(&neighbour[0]));
}
__global__ void uses_pointer(intptr_t address, int* out) {
  __shared__ int own[4];
  own[threadIdx.x] = 0;
  out[0] = own[threadIdx.x] + *reinterpret_cast<int*>(address);
}

__device__ int large(int at) {
  __shared__ int in_function[8000];
  in_function[at] = at;
  return in_function[at];
}
__global__ void large_too(int* out) {
  __shared__ int in_kernel[8000];
  in_kernel[threadIdx.x] = 1;
  out[threadIdx.x] = in_kernel[threadIdx.x] + large(static_cast<int>(threadIdx.x));
}

/// Of this name there is one in another source, too.
__global__ void same_name(int* out) {
  __shared__ int bytes[30 * 256];
  bytes[threadIdx.x] = 1;
  out[threadIdx.x] = bytes[threadIdx.x];
}

}  // namespace

TEST_CASE("reports name the element of shared memory", "[checks]") {
  tutorial::DeviceBuffer<int> out(4);
  unwritten<int, 4, 17><<<1, 1>>>(3, 16, out.data());
  const Outcome ints;
  CHECK_THAT(ints.report, ContainsSubstring("shared memory plain[3][16]\n"));
  CHECK_THAT(ints.report, ContainsSubstring("shared memory other[67]\n"));
  CHECK_THAT(ints.report, ContainsSubstring("shared memory pairs[3], byte 4 of it\n"));
  CHECK_THAT(ints.report, ContainsSubstring("shared memory single\n"));
  tutorial::DeviceBuffer<double> doubles(4);
  unwritten<double, 2, 3><<<1, 1>>>(1, 2, doubles.data());
  const Outcome others;
  CHECK_THAT(others.report, ContainsSubstring("shared memory plain[1][2]\n"));
  CHECK_THAT(others.report, ContainsSubstring("shared memory other[5]\n"));
  unwritten_dynamic<<<1, 1, 100>>>(out.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("init in unwritten_dynamic, shared memory tile[2][3]\n"));
  calls_it<<<1, 1>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("init in calls_it, shared memory own[3]\n"));
}

TEST_CASE("reports name the element of global memory", "[checks]") {
  tutorial::DeviceBuffer<Pair> pairs(9);
  tutorial::DeviceBuffer<int> out(4);
  second_tag<<<1, 1>>>(pairs.data(), out.data());
  CHECK_THAT(
      Outcome{}.report,
      ContainsSubstring("init in second_tag, global memory, element 1 of 9, byte 4 of it\n"));
  Pair* plain = nullptr;
  CUDA_CHECK(cudaMalloc(&plain, 9 * sizeof(Pair)));
  second_tag<<<1, 1>>>(plain, out.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("global memory, byte 12 of an allocation of 72\n"));
  CUDA_CHECK(cudaFree(plain));
}

TEST_CASE("a step out of a shared array is out of bounds", "[checks]") {
  tutorial::DeviceBuffer<int> out(4);
  steps<<<1, 32>>>(31, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  for (const int by : {32, 40, -1, -8}) {
    CAPTURE(by);
    steps<<<1, 32>>>(by, out.data());
    const Outcome outcome;
    CHECK(outcome.error == cudaErrorIllegalAddress);
    CHECK_THAT(outcome.report,
               ContainsSubstring("shared_names_test.cu:" + std::to_string(kStep) + "   "));
    CHECK_THAT(outcome.report, ContainsSubstring(by > 0 ? " bytes past the end of first (128 bytes)"
                                                        : " bytes before the start of first"));
  }
}

TEST_CASE("the shared array of another kernel is out of bounds", "[checks]") {
  // Each worker has it elsewhere: with one block, the worker may change between the launches.
  tutorial::DeviceBuffer<int> out(std::vector<int>(4, 0));
  std::string reports;
  const std::string wanted = "outside every __shared__ array of the kernel";
  for (int i = 0; i < 200 && reports.find(wanted) == reports.npos; ++i) {
    has_a_neighbour<<<1, 1>>>(out.data());
    CUDA_CHECK_LAUNCH();
    const std::vector<int> got = out.to_host();
    const intptr_t address = (static_cast<intptr_t>(got[1]) << 32) | static_cast<unsigned>(got[2]);
    uses_pointer<<<64, 1>>>(address, out.data() + 3);
    reports += Outcome{}.report;
  }
  CHECK_THAT(reports, ContainsSubstring(wanted));
}

TEST_CASE("shared arrays of device functions count towards 48 KB", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  large_too<<<1, 32>>>(out.data());
  const Outcome outcome;
  CHECK(outcome.error == cudaErrorInvalidValue);
  CHECK_THAT(outcome.report, ContainsSubstring("take 64000 bytes; CUDA allows 49152"));
}

TEST_CASE("kernels of one name in two sources do not share their limit, 1", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  same_name<<<1, 32>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, same_name));
  CHECK(attributes.sharedSizeBytes == 30 * 1024);
}
