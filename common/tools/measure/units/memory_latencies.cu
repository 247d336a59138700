// How long one load waits for each memory: a thread follows a chain, each link of which holds the
// place of the next, so that no load can begin before the last one has ended. Prints a line a
// memory, comma-separated; common/tools/measure/memory_latencies.py runs it and keeps them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kRepeats = 11;   // of which the median counts
constexpr int kLinks = 16384;  // that are followed while the clock runs
constexpr int kLine = 128;     // bytes of a cache line: a link of the chain in each
constexpr int kSharedLinks = 4096;
constexpr size_t kL1Bytes = 64 << 10, kL2Bytes = 16 << 20, kGlobalBytes = 1 << 30;

struct Took {
  long long cycles, ns;
};

__device__ Took now() {
  long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns)::"memory");
  return {clock64(), ns};
}

__device__ void note(Took begin, Took end, Took* took) {
  *took = {end.cycles - begin.cycles, end.ns - begin.ns};
}

/// No memory at all: each multiply-add waits for the register that the one before it writes.
__global__ void chain_of_registers(int links, float factor, Took* took, float* sink) {
  float x = factor;
  const Took begin = now();
#pragma unroll 64
  for (int i = 0; i < links; ++i) x = x * factor + factor;
  if (x == 0) *sink = x;  // it never is; the time must not be read before x is there
  const Took end = now();
  note(begin, end, took);
  *sink = x;
}

/// From lane to lane of a warp: the answer says which lane is asked next.
__global__ void chain_of_shuffles(int links, Took* took, int* sink) {
  int lane = (threadIdx.x + 1) % 32;
  const Took begin = now();
#pragma unroll 64
  for (int i = 0; i < links; ++i) lane = __shfl_sync(~0u, lane, lane);
  if (lane == 32) *sink = lane;
  const Took end = now();
  if (threadIdx.x == 0) note(begin, end, took);
  *sink = lane;
}

__global__ void chain_in_shared(int links, const uint32_t* order, Took* took, uint32_t* sink) {
  __shared__ uint32_t chain[kSharedLinks];
  for (int i = 0; i < kSharedLinks; ++i) chain[i] = order[i];
  uint32_t at = 0;  // in bytes: no arithmetic between two loads
  const Took begin = now();
#pragma unroll 64
  for (int i = 0; i < links; ++i)
    at = *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(chain) + at);
  if (at == 1) *sink = at;
  const Took end = now();
  note(begin, end, took);
  *sink = at;
}

/// `first` links are followed beforehand. IN_L1: may the L1 cache answer?
template <bool IN_L1>
__global__ void chain_in_global(int first, int links, void** at, Took* took, void** sink) {
  const auto next = [](void** link) {
    return reinterpret_cast<void**>(IN_L1 ? __ldca(reinterpret_cast<unsigned long long*>(link))
                                          : __ldcg(reinterpret_cast<unsigned long long*>(link)));
  };
  for (int i = 0; i < first; ++i) at = next(at);
  if (at == nullptr) *sink = at;
  const Took begin = now();
#pragma unroll 64
  for (int i = 0; i < links; ++i) at = next(at);
  if (at == nullptr) *sink = at;
  const Took end = now();
  note(begin, end, took);
  *sink = at;
}

/// Reads so much that nothing else stays in the L2 cache.
__global__ void read_all(const int4* from, size_t count, int* sink) {
  int sum = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    sum += from[i].x;
  if (sum == 1) *sink = sum;  // the memory holds zeros
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
T* allocate(size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  check(cudaMemset(memory, 0, bytes));
  return static_cast<T*>(memory);
}

/// For each of `count` links the next one: a single round through all of them, in a random order.
std::vector<uint32_t> round_trip(size_t count) {
  std::vector<uint32_t> next(count);
  for (size_t i = 0; i < count; ++i) next[i] = static_cast<uint32_t>(i);
  std::mt19937 random(1);
  for (size_t i = count - 1; i > 0; --i) std::swap(next[i], next[random() % i]);  // Sattolo's
  return next;
}

/// A chain with a link in every line of so many bytes.
void** chain_over(size_t bytes) {
  std::vector<char> lines(bytes);
  auto* chain = allocate<char>(bytes);
  const std::vector<uint32_t> next = round_trip(bytes / kLine);
  for (size_t i = 0; i < next.size(); ++i)
    *reinterpret_cast<void**>(&lines[i * kLine]) = chain + size_t{next[i]} * kLine;
  check(cudaMemcpy(chain, lines.data(), bytes, cudaMemcpyHostToDevice));
  return reinterpret_cast<void**>(chain);
}

/// `capacity`: how many bytes the device has of it, or each multiprocessor, as a text.
template <class Launch>
void measure(const char* memory, const std::string& capacity, size_t bytes, Took* took,
             Launch launch) {
  std::vector<Took> all(kRepeats);
  launch();  // loads the kernel
  for (Took& one : all) {
    launch();
    check(cudaMemcpy(&one, took, sizeof one, cudaMemcpyDeviceToHost));
  }
  std::sort(all.begin(), all.end(), [](Took a, Took b) { return a.cycles < b.cycles; });
  const auto per_link = [&](long long x) { return static_cast<double>(x) / kLinks; };
  const Took& median = all[kRepeats / 2];
  std::printf("%s,%s,%zu,%d,%.5g,%.5g,%.5g,%.5g\n", memory, capacity.c_str(), bytes, kLinks,
              per_link(median.cycles), per_link(all.front().cycles), per_link(all.back().cycles),
              per_link(median.ns));
}

}  // namespace

int main() {
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0));
  const size_t flush_bytes = std::max<size_t>(4 * size_t(device.l2CacheSize), size_t{256} << 20);
  auto* flush = allocate<int4>(flush_bytes);
  auto* took = allocate<Took>(sizeof(Took));
  auto* sink = allocate<void*>(sizeof(void*));

  std::puts("memory,capacity,bytes,loads,cycles,low_cycles,high_cycles,ns");
  const std::string registers = std::to_string(sizeof(float) * device.regsPerMultiprocessor);
  measure("register", registers, sizeof(float), took, [&] {
    chain_of_registers<<<1, 1>>>(kLinks, 0.5f, took, reinterpret_cast<float*>(sink));
  });

  measure("shuffle", registers, sizeof(int), took,
          [&] { chain_of_shuffles<<<1, 32>>>(kLinks, took, reinterpret_cast<int*>(sink)); });

  std::vector<uint32_t> order = round_trip(kSharedLinks);
  for (uint32_t& at : order) at *= sizeof(uint32_t);
  auto* in_shared = allocate<uint32_t>(kSharedLinks * sizeof(uint32_t));
  check(
      cudaMemcpy(in_shared, order.data(), kSharedLinks * sizeof(uint32_t), cudaMemcpyHostToDevice));
  measure("shared", std::to_string(device.sharedMemPerMultiprocessor),
          kSharedLinks * sizeof(uint32_t), took, [&] {
            chain_in_shared<<<1, 1>>>(kLinks, in_shared, took, reinterpret_cast<uint32_t*>(sink));
          });

  // Followed once beforehand, so that all of it lies in the cache.
  void** in_l1 = chain_over(kL1Bytes);
  measure("L1", "", kL1Bytes, took,
          [&] { chain_in_global<true><<<1, 1>>>(kL1Bytes / kLine, kLinks, in_l1, took, sink); });
  void** in_l2 = chain_over(kL2Bytes);
  measure("L2", std::to_string(device.l2CacheSize), kL2Bytes, took,
          [&] { chain_in_global<false><<<1, 1>>>(kL2Bytes / kLine, kLinks, in_l2, took, sink); });
  // Longer than is followed: no line is read twice after the L2 was cleared.
  void** in_global = chain_over(kGlobalBytes);
  measure("global", std::to_string(device.totalGlobalMem), kGlobalBytes, took, [&] {
    read_all<<<1024, 256>>>(flush, flush_bytes / sizeof(int4), reinterpret_cast<int*>(sink));
    chain_in_global<false><<<1, 1>>>(0, kLinks, in_global, took, sink);
  });
  check(cudaDeviceSynchronize());
  return 0;
}
