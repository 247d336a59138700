// Accesses of what a kernel, or the host, must not touch.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "common/kernel/cluster.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

constexpr int kReadLine = __LINE__ + 2;
__global__ void reads(const int* in, int at, int* out) {
  out[0] = in[at];
}
constexpr int kWriteLine = __LINE__ + 2;
__global__ void writes(int* out, int at) {
  out[at] = 5;
}
__global__ void adds(int* out) {
  atomicAdd(out, 1);
}
constexpr int kPointerLine = __LINE__ + 6;
__global__ void uses_anothers_local(int* out) {
  __shared__ int* pointer;
  int local = 7 + static_cast<int>(threadIdx.x);
  if (threadIdx.x == 0) pointer = &local;
  __syncthreads();
  out[threadIdx.x] = *pointer;
  __syncthreads();
  out[threadIdx.x] += local;
}
__global__ void uses_own_local(int* out) {
  int local[8];
  for (int i = 0; i < 8; ++i) local[i] = i;
  int* const pointer = &local[out[0]];
  __syncthreads();
  out[threadIdx.x] = *pointer;
}

__constant__ int constants[3] = {1, 2, 3};
const int kTable[] = {10, 20, 30};
__device__ int counter = 0;
struct Parameters {
  int values[40];
  Parameters() = default;
  Parameters(const Parameters& other) {
    for (int i = 0; i < 40; ++i) values[i] = other.values[i];
  }
};
__global__ void reads_static(int i, Parameters parameters, int* out) {
  out[0] = constants[i] + kTable[i] + parameters.values[i];
  atomicAdd(&counter, 1);
}

constexpr int kHostLine = __LINE__ + 2;
int reads_on_host(const int* device_memory) {
  return device_memory[3];
}

std::string line(int number) {
  return "bounds_test.cu:" + std::to_string(number) + "   ";
}

/// Of this name there is one in another source, too.
__global__ void same_name(int* out) {
  __shared__ int bytes[30 * 256];
  bytes[threadIdx.x] = 1;
  out[threadIdx.x] = bytes[threadIdx.x];
}

enum class Way { up, down };
template <Way W, class T>
__global__ void walks(T* x) {
  x[W == Way::up ? 1 : -1] = 0;
}

__global__ void reads_two(const int2* in, int at, int* out) {
  out[0] = in[at].y;
  *reinterpret_cast<int2*>(out) = in[at];
}

__global__ void called_by_pointer(int* data) {
  data[1] = 5;
}

}  // namespace

TEST_CASE("the guards of a buffer are out of bounds", "[checks]") {
  for (const int64_t offset : {0, 1, 3}) {
    tutorial::DeviceBuffer<int> buffer(std::vector<int>(10, 1), offset), out(1);
    reads<<<1, 1>>>(buffer.data(), 9, out.data());
    CHECK(Outcome{}.error == cudaSuccess);
    reads<<<1, 1>>>(buffer.data(), 11, out.data());
    const Outcome after;
    CHECK(after.error == cudaErrorIllegalAddress);
    CHECK_THAT(after.report, ContainsSubstring("bounds in reads\n  read by    "));
    CHECK_THAT(after.report, ContainsSubstring(line(kReadLine) + "out[0] = in[at];"));
    CHECK_THAT(after.report,
               ContainsSubstring("the address is 4 bytes past the end of an allocation "
                                 "of 40 bytes (10 elements of 4)"));
    CHECK(buffer.guards_intact());
    writes<<<1, 1>>>(buffer.data(), -2);
    const Outcome before;
    CHECK(before.error == cudaErrorIllegalAddress);
    CHECK_THAT(before.report, ContainsSubstring(line(kWriteLine)));
    CHECK_THAT(before.report, ContainsSubstring("8 bytes before the start of an allocation of 40"));
    CHECK_FALSE(buffer.guards_intact());
  }
  tutorial::DeviceBuffer<int> empty(0);
  writes<<<1, 1>>>(empty.data(), 0);
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("0 bytes past the end of an allocation of 0 bytes"));
}

TEST_CASE("an access that begins inside and ends outside says so", "[checks]") {
  const tutorial::DeviceBuffer<int> three(std::vector<int>(3, 1));
  tutorial::DeviceBuffer<int> out(1);
  reads_two<<<1, 1>>>(reinterpret_cast<const int2*>(three.data()), 0, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("the access begins 4 bytes before the end of an "
                                                 "allocation of 4 bytes (1 elements of 4), and "
                                                 "reaches over it"));
}

TEST_CASE("a kernel's name ends behind its arguments, of whatever type they are", "[checks]") {
  tutorial::DeviceBuffer<int> one(1);
  CHECK_THROWS(tutorial::launch_clusters(walks<Way::down, int>, 1, 1, 1, 0, nullptr, one.data()));
  CHECK_THAT(Outcome{}.report, ContainsSubstring("bounds in walks<(Way)1, int>\n"));
}

TEST_CASE("freed memory is called so", "[checks]") {
  tutorial::DeviceBuffer<int> out(1);
  int* freed = nullptr;
  CUDA_CHECK(cudaMalloc(&freed, 64 * sizeof(int)));
  CUDA_CHECK(cudaFree(freed));
  reads<<<1, 1>>>(freed, 5, out.data());
  const Outcome plain;
  CHECK(plain.error == cudaErrorIllegalAddress);
  CHECK_THAT(
      plain.report,
      ContainsSubstring("freed memory: 20 bytes into an allocation of 256 bytes that was freed"));
  CHECK(count_of(plain.report, "bounds in") == 1);  // the crash that follows adds nothing
  const int* gone = tutorial::DeviceBuffer<int>(8).data();
  reads<<<1, 1>>>(gone, 1, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("freed memory: 4 bytes into an allocation of 32"));
}

TEST_CASE("host memory in a kernel is reported", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  int variable = 1;
  const auto array = std::make_unique<int[]>(100);
  for (int* host : {&variable, array.get()}) {
    reads<<<1, 1>>>(host, 0, out.data());
    const Outcome outcome;
    CHECK(outcome.error == cudaErrorIllegalAddress);
    CHECK_THAT(outcome.report, ContainsSubstring("host memory in a kernel"));
    CHECK_THAT(outcome.report, ContainsSubstring(line(kReadLine)));
    writes<<<1, 1>>>(host, 0);
    CHECK_THAT(Outcome{}.report, ContainsSubstring("host memory in a kernel"));
    adds<<<1, 1>>>(host);
    CHECK_THAT(Outcome{}.report, ContainsSubstring("  atomic by  "));
  }
}

TEST_CASE("static data, parameters and pinned host memory are no host memory", "[checks]") {
  tutorial::DeviceBuffer<int> out(std::vector<int>(8, 2));
  Parameters parameters;
  for (int& value : parameters.values) value = 100;
  reads_static<<<2, 1>>>(1, parameters, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  CHECK(out.to_host()[0] == 122);
  int* pinned = nullptr;
  CUDA_CHECK(cudaMallocHost(&pinned, 10 * sizeof(int)));
  pinned[9] = 6;
  reads<<<1, 1>>>(pinned, 9, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  CHECK(out.to_host()[0] == 6);
  reads<<<1, 1>>>(pinned, 10, out.data());
  CHECK(Outcome{}.error == cudaErrorIllegalAddress);
  CUDA_CHECK(cudaFreeHost(pinned));
  out.from_host(std::vector<int>(8, 3));
  uses_own_local<<<1, 8>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
}

TEST_CASE("a local variable belongs to its thread", "[checks]") {
  tutorial::DeviceBuffer<int> out(8);
  uses_anothers_local<<<1, 1>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  uses_anothers_local<<<1, 8>>>(out.data());
  const Outcome outcome;
  CHECK(outcome.error == cudaErrorIllegalAddress);
  CHECK_THAT(outcome.report, ContainsSubstring("a local variable of another thread"));
  CHECK_THAT(outcome.report, ContainsSubstring(line(kPointerLine)));
}

TEST_CASE("global memory in host code is reported, once, and is an error", "[checks]") {
  tutorial::DeviceBuffer<int> data(std::vector<int>(4, 17));
  CHECK(reads_on_host(data.data()) == 17);  // with a GPU it would crash
  CHECK(reads_on_host(data.data()) == 17);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK_THAT(Outcome{}.report, ContainsSubstring("bounds in host code"));
  CHECK_THAT(simulator::last_report(), ContainsSubstring(line(kHostLine)));

  int* managed = nullptr;
  CUDA_CHECK(cudaMallocManaged(&managed, 4 * sizeof(int)));
  managed[3] = 9;
  CHECK(reads_on_host(managed) == 9);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CUDA_CHECK(cudaFree(managed));
}

TEST_CASE("a kernel that is called by a pointer is told from host code", "[checks]") {
  tutorial::DeviceBuffer<int> data(std::vector<int>(4, 17));
  called_by_pointer<<<1, 1>>>(data.data());
  CUDA_CHECK_LAUNCH();
  void (*volatile pointer)(int*) = called_by_pointer;
  pointer(data.data());
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  static_cast<void>(cudaGetLastError());
  CHECK_THAT(simulator::last_report(), ContainsSubstring("this is a kernel, which was called") &&
                                           ContainsSubstring("<<<grid, block>>> is missing"));
}

TEST_CASE("a program that touches global memory and asks for no error ends with one", "[checks]") {
  tutorial::DeviceBuffer<int> data(std::vector<int>(4, 17));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // the simulator's workers are the parent's: a usual end would wait for them
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(99);
    volatile int value = reads_on_host(data.data());
    static_cast<void>(value);
    std::exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("kernels of one name in two sources do not share their limit, 2", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  same_name<<<1, 32>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, same_name));
  CHECK(attributes.sharedSizeBytes == 30 * 1024);
}
