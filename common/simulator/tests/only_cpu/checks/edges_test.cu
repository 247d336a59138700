// Both ends of what may be touched, to the byte: the last access that is right and the first that
// is not.
#include <cuda_pipeline.h>

#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

template <class T>
__global__ void copies_from(const T* in, int first, int last, T* out) {
  for (int i = first; i <= last; ++i) out[i - first] = in[i];
}
__global__ void reads_static_shared(int at, float4* out) {
  alignas(16) __shared__ float tile[6];
  for (int i = 0; i < 6; ++i) tile[i] = 1;
  out[0] = reinterpret_cast<const float4*>(tile)[at];
}
__global__ void reads_dynamic_shared(int at, float4* out) {
  extern __shared__ float4 tile[];
  if (at == 0) tile[0] = {};
  out[0] = tile[at];
}
__global__ void writes_dynamic_shared(int at, int* out) {
  extern __shared__ int words[];
  words[at] = 1;
  out[0] = words[at];
}
__global__ void index_of_array(int at, int* out) {
  __shared__ int tile[8];
  for (int i = 0; i < 8; ++i) tile[i] = i;
  out[0] = tile[at];
}

/// Byte `written` of each four, then byte `read`.
__global__ void bytes_of_shared(int written, int read, unsigned char* out) {
  __shared__ unsigned char bytes[128];
  bytes[4 * threadIdx.x + written] = 1;
  out[threadIdx.x] = bytes[4 * threadIdx.x + read];
}
__global__ void writes_bytes(int at, unsigned char* data) {
  data[4 * threadIdx.x + at] = 1;
}

/// Blocks below `writers` write the array that all of them read.
__global__ void some_blocks_write(unsigned writers, int* out) {
  __shared__ int tile[32];
  if (blockIdx.x < writers) tile[threadIdx.x] = 1;
  out[32 * blockIdx.x + threadIdx.x] = tile[threadIdx.x];
}

__global__ void adds_to_device(int* sum) {
  atomicAdd(sum, 1);
}
__global__ void adds_to_shared(int* out) {
  __shared__ int sum;
  atomicAdd(&sum, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = 1;
}

/// From global memory at `from` to shared memory at `to`.
__global__ void brings(const char* in, int from, int to, int size, int zfill, int* out) {
  alignas(16) __shared__ char tile[32];
  __pipeline_memcpy_async(tile + to, in + from, static_cast<size_t>(size),
                          static_cast<size_t>(zfill));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = tile[to];
}
__global__ void brings_to_device_memory(const int* in, int* out) {
  __pipeline_memcpy_async(out, in, sizeof(int));
}

/// Global memory of so many bytes, as cudaMalloc gives it.
struct Plain {
  char* data = nullptr;
  explicit Plain(size_t bytes, size_t written = 0) {
    CUDA_CHECK(cudaMalloc(&data, bytes));
    CUDA_CHECK(cudaMemset(data, 0, written));
  }
  ~Plain() { cudaFree(data); }
  Plain(const Plain&) = delete;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

}  // namespace

TEST_CASE("an access that begins inside an allocation must end inside it", "[checks]") {
  const Plain six(24, 24), eight(32, 32);
  tutorial::DeviceBuffer<float4> out(2);
  copies_from<<<1, 1>>>(eight.as<float4>(), 0, 1, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  for (const int first : {0, 1}) {  // after an access that was right, and at once
    copies_from<<<1, 1>>>(six.as<float4>(), first, 1, out.data());
    const Outcome outcome;
    CHECK(outcome.error == cudaErrorIllegalAddress);
    CHECK_THAT(outcome.report, ContainsSubstring("bounds in copies_from"));
  }
  copies_from<<<1, 1>>>(six.as<float4>(), 0, 0, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
}

TEST_CASE("memory that a kernel has read before is gone when it is freed", "[checks]") {
  tutorial::DeviceBuffer<int> out(1);
  int* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, 64));
  CUDA_CHECK(cudaMemset(memory, 0, 64));
  copies_from<<<64, 1>>>(memory, 3, 3, out.data());  // on every worker
  CHECK(Outcome{}.error == cudaSuccess);
  CUDA_CHECK(cudaFree(memory));
  copies_from<<<64, 1>>>(memory, 3, 3, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("bounds in copies_from\n  read by    block"));
}

TEST_CASE("an access that begins inside shared memory must end inside it", "[checks]") {
  tutorial::DeviceBuffer<float4> out(1);
  tutorial::DeviceBuffer<int> word(1);
  reads_static_shared<<<1, 1>>>(0, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  reads_static_shared<<<1, 1>>>(1, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("bounds in reads_static_shared"));
  reads_dynamic_shared<<<1, 1, 24>>>(0, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  reads_dynamic_shared<<<1, 1, 24>>>(1, out.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("shared memory tile[1]: byte 16 of 24 bytes of dynamic"));
  writes_dynamic_shared<<<1, 1, 24>>>(5, word.data());
  CHECK(Outcome{}.error == cudaSuccess);
  writes_dynamic_shared<<<1, 1, 24>>>(6, word.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("byte 24 of 24 bytes of dynamic"));
  writes_dynamic_shared<<<1, 1, 24>>>(-1, word.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("just before the start of dynamic shared memory"));
}

TEST_CASE("an index below an array or behind it is named", "[checks]") {
  tutorial::DeviceBuffer<int> out(1);
  for (const int at : {0, 7}) {
    index_of_array<<<1, 1>>>(at, out.data());
    CHECK(Outcome{}.error == cudaSuccess);
  }
  for (const int at : {-1, 8}) {
    index_of_array<<<1, 1>>>(at, out.data());
    CHECK_THAT(Outcome{}.report,
               ContainsSubstring("index " + std::to_string(at) + " is outside an array 'int [8]'"));
  }
}

TEST_CASE("a written byte says nothing of its neighbours", "[checks]") {
  tutorial::DeviceBuffer<unsigned char> out(32);
  for (const int byte : {0, 3}) {
    bytes_of_shared<<<1, 32>>>(byte, byte, out.data());
    CHECK(Outcome{}.error == cudaSuccess);
    bytes_of_shared<<<1, 32>>>(byte, 1, out.data());
    CHECK_THAT(Outcome{}.report, ContainsSubstring("init in bytes_of_shared"));

    tutorial::DeviceBuffer<unsigned char> data(4), one(1);
    writes_bytes<<<1, 1>>>(byte, data.data());
    copies_from<<<1, 1>>>(data.data(), byte, byte, one.data());
    CHECK(Outcome{}.error == cudaSuccess);
    copies_from<<<1, 1>>>(data.data(), 2, 2, one.data());
    CHECK_THAT(Outcome{}.report, ContainsSubstring("init in copies_from"));
  }
}

TEST_CASE("the host writes global memory to the byte", "[checks]") {
  tutorial::DeviceBuffer<unsigned char> out(16);
  const unsigned char seven[7] = {};
  for (const int first : {0, 1, 2}) {
    CAPTURE(first);
    const Plain set(16), copied(16);
    CUDA_CHECK(cudaMemset(set.data + first, 0, 7));
    CUDA_CHECK(cudaMemcpy(copied.data + first, seven, 7, cudaMemcpyHostToDevice));
    for (const Plain* memory : {&set, &copied}) {
      const auto* data = memory->as<unsigned char>();
      copies_from<<<1, 1>>>(data, first, first + 6, out.data());
      CHECK(Outcome{}.error == cudaSuccess);
      copies_from<<<1, 1>>>(data, first + 7, first + 7, out.data());
      CHECK_THAT(Outcome{}.report, ContainsSubstring("init in copies_from"));
      if (first == 0) continue;
      copies_from<<<1, 1>>>(data, first - 1, first - 1, out.data());
      CHECK_THAT(Outcome{}.report, ContainsSubstring("init in copies_from"));
    }
  }
}

TEST_CASE("memory that was written counts as unwritten when it is poisoned again", "[checks]") {
  tutorial::DeviceBuffer<unsigned char> data(std::vector<unsigned char>(7, 1)), out(7);
  copies_from<<<1, 1>>>(data.data(), 0, 6, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  data.poison();
  for (const int at : {0, 3, 4, 6}) {
    copies_from<<<1, 1>>>(data.data(), at, at, out.data());
    CHECK_THAT(Outcome{}.report, ContainsSubstring("init in copies_from"));
  }
}

TEST_CASE("what a block leaves in shared memory is not there for the next one", "[checks]") {
  tutorial::DeviceBuffer<int> out(32 * 96);
  some_blocks_write<<<64, 32>>>(64, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  some_blocks_write<<<96, 32>>>(64, out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("init in some_blocks_write") &&
                                   ContainsSubstring("seen 1024 times"));
}

TEST_CASE("an atomic function reads, too", "[checks]") {
  tutorial::DeviceBuffer<int> unwritten(1), zero(std::vector<int>(1, 0)), out(1);
  adds_to_device<<<1, 2>>>(zero.data());
  CHECK(Outcome{}.error == cudaSuccess);
  adds_to_device<<<1, 2>>>(unwritten.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("init in adds_to_device") && ContainsSubstring("seen 1 time\n"));
  adds_to_shared<<<1, 2>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("init in adds_to_shared, shared memory sum"));
}

TEST_CASE("an asynchronous copy is looked at on both sides", "[checks][pipeline]") {
  const Plain in(32, 16);  // the second half is unwritten
  tutorial::DeviceBuffer<int> out(1);
  const auto outcome = [&](int from, int to, int size, int zfill) {
    brings<<<1, 1>>>(in.data, from, to, size, zfill, out.data());
    return Outcome{};
  };
  CHECK(outcome(0, 16, 16, 0).error == cudaSuccess);
  CHECK(outcome(12, 28, 4, 0).error == cudaSuccess);
  CHECK_THAT(outcome(16, 0, 16, 0).report, ContainsSubstring("init in brings"));
  CHECK_THAT(outcome(32, 0, 4, 0).report, ContainsSubstring("bounds in brings"));
  CHECK_THAT(outcome(0, 32, 16, 0).report, ContainsSubstring("bounds in brings"));
  CHECK(outcome(8, 0, 8, 8).error == cudaSuccess);
  CHECK(outcome(32, 0, 8, 8).error == cudaSuccess);  // of which nothing is read
  CHECK_THAT(outcome(28, 0, 8, 4).report, ContainsSubstring("wider than its address is aligned"));
  CHECK_THAT(outcome(0, 4, 8, 0).report, ContainsSubstring("wider than its address is aligned"));
  for (const auto& [size, zfill] : {std::pair{12, 0}, {2, 0}, {4, 5}})
    CHECK_THAT(outcome(0, 0, size, zfill).report, ContainsSubstring("copies 4, 8 or 16 bytes"));
  brings_to_device_memory<<<1, 1>>>(in.as<int>(), out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("into shared memory"));
}
