// What streams and events order, and the accesses that nothing orders.
#include <cublas_v2.h>

#include <catch2/generators/catch_generators.hpp>

#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

constexpr int kWrite = __LINE__ + 2;
__global__ void writes(int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(threadIdx.x);
}
constexpr int kRead = __LINE__ + 2;
__global__ void reads(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void counts(int* out) {
  atomicAdd(out, 1);
}

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, flags));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

struct Event {
  Event() { CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  cudaEvent_t event = nullptr;
};

/// Nothing that came before may still run.
struct Idle {
  Idle() { cudaDeviceSynchronize(); }
};

bool is_race(const Outcome& outcome) {
  CAPTURE(outcome.report);
  const bool says = outcome.report.find("race in ") == 0;
  CHECK((outcome.error == cudaErrorLaunchFailure) == says);
  return says;
}

}  // namespace

TEST_CASE("a launch in another stream races with one that nothing orders before it", "[streams]") {
  const Stream a, b;
  const Event event;
  tutorial::DeviceBuffer<int> data(std::vector<int>(64, 1)), out(64), more(64);
  const Idle idle;

  writes<<<1, 64, 0, a>>>(data.data());
  reads<<<1, 64, 0, b>>>(data.data(), out.data());
  const Outcome outcome;
  CHECK(is_race(outcome));
  CHECK_THAT(outcome.report, ContainsSubstring("race in reads, global memory, element 0 of 64"));
  CHECK_THAT(outcome.report,
             ContainsSubstring("written by writes, block (0,0) thread (0,0)  streams_test.cu:" +
                               std::to_string(kWrite)));
  CHECK_THAT(outcome.report, ContainsSubstring("  on stream "));
  CHECK_THAT(outcome.report, ContainsSubstring("streams_test.cu:" + std::to_string(kRead)));
  CHECK_THAT(outcome.report, ContainsSubstring("nothing orders the two"));
  CHECK_THAT(outcome.report,
             ContainsSubstring("likely: cudaEventRecord() and cudaStreamWaitEvent()"));

  cudaDeviceSynchronize();
  SECTION("the same stream") {
    writes<<<1, 64, 0, a>>>(data.data());
    reads<<<1, 64, 0, a>>>(data.data(), out.data());
    CHECK_FALSE(is_race({}));
  }
  SECTION("an event") {
    writes<<<1, 64, 0, a>>>(data.data());
    CUDA_CHECK(cudaEventRecord(event.event, a));
    CUDA_CHECK(cudaStreamWaitEvent(b, event.event));
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    CHECK_FALSE(is_race({}));
    // What comes after the record is not waited for.
    writes<<<1, 64, 0, a>>>(data.data());
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    CHECK(is_race({}));
  }
  SECTION("an event that comes too early") {
    CUDA_CHECK(cudaEventRecord(event.event, a));
    writes<<<1, 64, 0, a>>>(data.data());
    CUDA_CHECK(cudaStreamWaitEvent(b, event.event));
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    CHECK(is_race({}));
  }
  SECTION("the host waits") {
    const int way = GENERATE(0, 1, 2, 3, 4);
    writes<<<1, 64, 0, a>>>(data.data());
    CUDA_CHECK(cudaEventRecord(event.event, a));
    if (way == 0) CUDA_CHECK(cudaStreamSynchronize(a));
    if (way == 1) CUDA_CHECK(cudaDeviceSynchronize());
    if (way == 2) CUDA_CHECK(cudaEventSynchronize(event.event));
    if (way == 3) CUDA_CHECK(cudaStreamQuery(a));
    if (way == 4) CUDA_CHECK(cudaStreamSynchronize(b));  // of the other: no help
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    CHECK(is_race({}) == (way == 4));
  }
  SECTION("read, then written") {
    reads<<<1, 64, 0, a>>>(data.data(), out.data());
    reads<<<1, 64, 0, b>>>(data.data(), more.data());
    CHECK_FALSE(is_race({}));
    writes<<<1, 64, 0, b>>>(data.data());  // a's read is remembered, too
    const Outcome late;
    CHECK(is_race(late));
    CHECK_THAT(late.report, ContainsSubstring("  read by    reads, block"));
  }
  SECTION("atomics") {
    tutorial::DeviceBuffer<int> sum(std::vector<int>(1, 0));
    counts<<<2, 32, 0, a>>>(sum.data());
    counts<<<2, 32, 0, b>>>(sum.data());
    CHECK_FALSE(is_race({}));
  }
}

TEST_CASE("blocking streams and the default stream wait for each other", "[streams]") {
  tutorial::DeviceBuffer<int> data(std::vector<int>(64, 1)), out(64);
  const bool blocks = GENERATE(true, false), default_first = GENERATE(true, false);
  const Stream stream(blocks ? cudaStreamDefault : cudaStreamNonBlocking);
  const Idle idle;
  writes<<<1, 64, 0, default_first ? nullptr : cudaStream_t{stream}>>>(data.data());
  reads<<<1, 64, 0, default_first ? cudaStream_t{stream} : nullptr>>>(data.data(), out.data());
  CHECK(is_race({}) == !blocks);
}

TEST_CASE("copies and fills have their place in a stream", "[streams]") {
  const Stream a, b;
  tutorial::DeviceBuffer<int> data(std::vector<int>(64, 1)), out(64);
  std::vector<int> host(64);
  const Idle idle;
  SECTION("a copy to the host, too early") {
    writes<<<1, 64, 0, a>>>(data.data());
    CHECK(cudaMemcpy(host.data(), data.data(), 256, cudaMemcpyDeviceToHost) ==
          cudaErrorLaunchFailure);
    CHECK_THAT(simulator::last_report(), ContainsSubstring("race in cudaMemcpy, global memory"));
    CHECK_THAT(simulator::last_report(),
               ContainsSubstring("read by cudaMemcpy on the default stream"));
    cudaGetLastError();
    CUDA_CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), data.data(), 256, cudaMemcpyDeviceToHost) == cudaSuccess);
  }
  SECTION("a copy to the device, and a kernel that needs it") {
    CUDA_CHECK(cudaMemcpyAsync(data.data(), host.data(), 256, cudaMemcpyHostToDevice, a));
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    const Outcome outcome;
    CHECK(is_race(outcome));
    CHECK_THAT(outcome.report, ContainsSubstring("written by cudaMemcpyAsync  on stream"));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpyAsync(data.data(), host.data(), 256, cudaMemcpyHostToDevice, b));
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    CHECK_FALSE(is_race({}));
  }
  SECTION("a copy that waits orders what follows") {
    CUDA_CHECK(cudaMemcpy(data.data(), host.data(), 256, cudaMemcpyHostToDevice));
    reads<<<1, 64, 0, b>>>(data.data(), out.data());
    CHECK_FALSE(is_race({}));
  }
  SECTION("neighbouring bytes of two streams") {
    tutorial::DeviceBuffer<char> bytes(8);
    CUDA_CHECK(cudaDeviceSynchronize());  // the buffer was poisoned
    CHECK(cudaMemsetAsync(bytes.data(), 1, 3, a) == cudaSuccess);
    CHECK(cudaMemsetAsync(bytes.data() + 3, 2, 5, b) == cudaSuccess);
    CHECK(cudaMemsetAsync(bytes.data() + 7, 3, 1, a) == cudaErrorLaunchFailure);
    CHECK_THAT(simulator::last_report(), ContainsSubstring("element 7 of 8"));
    cudaGetLastError();
    CHECK(cudaMemsetAsync(bytes.data() + 2, 3, 1, a) == cudaSuccess);
    CHECK(cudaMemsetAsync(bytes.data() + 1, 3, 1, b) == cudaErrorLaunchFailure);
    cudaGetLastError();
  }
  SECTION("a fill of what another stream still reads") {
    reads<<<1, 64, 0, a>>>(data.data(), out.data());
    CHECK(cudaMemsetAsync(data.data(), 0, 4, b) == cudaErrorLaunchFailure);
    CHECK_THAT(simulator::last_report(), ContainsSubstring("read    by reads, block"));
    cudaDeviceSynchronize();
    reads<<<1, 64, 0, a>>>(data.data(), out.data());
    CHECK(cudaMemsetAsync(data.data(), 0, 4, a) == cudaSuccess);
  }
}

TEST_CASE("memory of cudaMallocAsync belongs to what its stream orders", "[streams]") {
  const Stream a, b;
  const Idle idle;
  int* memory = nullptr;
  CUDA_CHECK(cudaMallocAsync(&memory, 256, a));
  SECTION("used before it is there") {
    writes<<<1, 64, 0, b>>>(memory);
    const Outcome outcome;
    CHECK(is_race(outcome));
    CHECK_THAT(outcome.report, ContainsSubstring("allocated by cudaMallocAsync  on stream"));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFreeAsync(memory, a));
  }
  SECTION("freed while another stream may use it") {
    writes<<<1, 64, 0, a>>>(memory);
    CHECK_FALSE(is_race({}));
    CUDA_CHECK(cudaFreeAsync(memory, b));
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK_THAT(simulator::last_report(), ContainsSubstring("race in cudaFreeAsync, global memory"));
    cudaGetLastError();
  }
  SECTION("all in one stream") {
    writes<<<1, 64, 0, a>>>(memory);
    CUDA_CHECK(cudaFreeAsync(memory, a));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
}

TEST_CASE("cuBLAS works on the stream of its handle", "[streams]") {
  const Stream a, b;
  tutorial::DeviceBuffer<float> A(std::vector<float>(16, 1)), C(16);
  tutorial::DeviceBuffer<int> out(16);
  cublasHandle_t blas = nullptr;
  CUBLAS_CHECK(cublasCreate(&blas));
  CUBLAS_CHECK(cublasSetStream(blas, a));
  const Idle idle;
  const float one = 1, zero = 0;
  const auto multiply = [&] {
    return cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, A.data(), 4, A.data(), 4,
                       &zero, C.data(), 4);
  };
  CUBLAS_CHECK(multiply());
  reads<<<1, 16, 0, a>>>(reinterpret_cast<int*>(C.data()), out.data());
  CHECK_FALSE(is_race({}));
  reads<<<1, 16, 0, b>>>(reinterpret_cast<int*>(C.data()), out.data());
  const Outcome outcome;
  CHECK(is_race(outcome));
  CHECK_THAT(outcome.report, ContainsSubstring("written by cublasSgemm  on stream"));
  cudaDeviceSynchronize();
  writes<<<1, 16, 0, b>>>(reinterpret_cast<int*>(A.data()));
  multiply();
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("race in cublasSgemm, global memory"));
  cudaGetLastError();
  CUBLAS_CHECK(cublasDestroy(blas));
}
