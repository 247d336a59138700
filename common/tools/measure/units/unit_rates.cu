// How much each unit of a multiprocessor does in a cycle when all of them are busy with nothing
// else. Prints a line a unit, comma-separated; common/tools/measure/memory_latencies.py runs it and
// keeps them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/kernel/wgmma.cuh"

namespace {

constexpr int kRepeats = 11;  // of which the median counts
constexpr int kThreads = 512;

/// Each multiprocessor's own clock runs in each block, which all begin at once and do the same.
struct Clock {
  long long begin = 0;
  __device__ Clock() {
    __syncthreads();
    begin = clock64();
  }
  __device__ void note(long long* cycles) const {
    __syncthreads();
    if (threadIdx.x == 0) cycles[blockIdx.x] = clock64() - begin;
  }
};

// ---- L2, and what is behind it. A round reads all of the array, each line once; with each round a
// block's part is another one, so that a multiprocessor comes to lines of both halves of L2.

__global__ void __launch_bounds__(kThreads)
    read_rounds(const int4* from, int64_t count, int rounds, long long* cycles, int* sink) {
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  int sum = 0;
  const Clock clock;
  for (int round = 0; round < rounds; ++round) {
    const int64_t block = (blockIdx.x + int64_t{37} * round) % gridDim.x;
    int64_t i = block * kThreads + threadIdx.x;
    for (; i + 3 * threads < count; i += 4 * threads) {
      const int4 a = __ldcg(from + i), b = __ldcg(from + i + threads),
                 c = __ldcg(from + i + 2 * threads), d = __ldcg(from + i + 3 * threads);
      sum += a.x ^ b.y ^ c.z ^ d.w;
    }
    for (; i < count; i += threads) sum += __ldcg(from + i).x;
  }
  clock.note(cycles);
  if (sum == 1) *sink = sum;  // the memory holds zeros
}

/// STRIDE: the bytes from a thread's place to the next one's; T is what it stores.
template <class T, int STRIDE>
__global__ void __launch_bounds__(kThreads)
    write_rounds(char* to, int64_t bytes, int rounds, long long* cycles, T value) {
  const int64_t threads = int64_t{gridDim.x} * kThreads, count = bytes / STRIDE;
  const Clock clock;
  for (int round = 0; round < rounds; ++round) {
    const int64_t block = (blockIdx.x + int64_t{37} * round) % gridDim.x;
    for (int64_t i = block * kThreads + threadIdx.x; i < count; i += threads)
      __stcg(reinterpret_cast<T*>(to + i * STRIDE), value);
  }
  clock.note(cycles);
}

// ---- L1 and shared memory: a warp reads so many lines with each request, all of them in L1.

/// PTX's loads are not volatile: that no two are one, each takes an address that depends on the
/// turn. `step` is 4 KB of 16.
template <int LINES>
__global__ void __launch_bounds__(kThreads)
    read_lines(const char* from, int turns, unsigned step, long long* cycles, float* sink) {
  // A line's 32 / LINES lanes read neighbours; all warps read the same 64 KB.
  const int lane = threadIdx.x % 32, line = lane % LINES;
  from += line * 128 + lane / LINES * 4;
  float sum = 0;
  for (unsigned at = 0; at < 16 * step; at += step)
    sum += __ldca(reinterpret_cast<const float*>(from + at));  // it comes into L1
  unsigned at = 0;
  const Clock clock;
#pragma unroll 16
  for (int i = 0; i < turns; ++i) {
    sum += __ldca(reinterpret_cast<const float*>(from + at));
    at = (at + step) & (16 * step - 1);
  }
  clock.note(cycles);
  if (sum == 1) *sink = sum;
}

__global__ void __launch_bounds__(kThreads) read_shared(int turns, long long* cycles, float* sink) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = 0;
  float sum = 0;
  const volatile float* const mine = tile + threadIdx.x;
  const Clock clock;
#pragma unroll 16
  for (int i = 0; i < turns; ++i) sum += *mine;
  clock.note(cycles);
  if (sum == 1) *sink = sum;
}

// ---- arithmetic, and barriers

/// Four chains a thread.
template <class Next>
__global__ void __launch_bounds__(kThreads)
    chains(int turns, float first, long long* cycles, float* sink, Next next) {
  float x[4];
  for (int i = 0; i < 4; ++i) x[i] = first + i;
  const Clock clock;
#pragma unroll 16
  for (int turn = 0; turn < turns; ++turn)
    for (int i = 0; i < 4; ++i) x[i] = next(x[i]);
  clock.note(cycles);
  if (x[0] + x[1] + x[2] + x[3] == 1) *sink = x[0];
}
struct MultiplyAdd {
  float factor;
  __device__ float operator()(float x) const { return x * factor + factor; }
};
struct PowerOf2 {
  __device__ float operator()(float x) const {
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
  }
};

__global__ void barriers(int turns, long long* cycles) {
  const Clock clock;
#pragma unroll 16
  for (int i = 0; i < turns; ++i) __syncthreads();
  clock.note(cycles);
}

/// Products (16, 16) · (16, 8) in bf16 by mma, four chains a warp.
__global__ void __launch_bounds__(kThreads) mma_chains(int turns, long long* cycles, float* sink) {
  float d[4][4] = {};
  const uint32_t zero = threadIdx.x / 1024;
  const Clock clock;
#if __CUDA_ARCH__ >= 800
  for (int turn = 0; turn < turns; ++turn)
    for (int i = 0; i < 4; ++i)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
          "{%4, %4}, {%0, %1, %2, %3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(zero));
#endif
  clock.note(cycles);
  if (d[0][0] + d[1][0] + d[2][0] + d[3][0] == 1) *sink = d[0][0];
}

#if defined(WGMMA)
/// Products (64, 16) · (16, 256) in bf16 by two warpgroups.
__global__ void __launch_bounds__(256) wgmma_chains(int turns, long long* cycles, float* sink) {
  using namespace tutorial;
  __shared__ alignas(1024) __nv_bfloat16 A[2][64 * 64], B[256 * 64];
  for (int i = threadIdx.x; i < 2 * 64 * 64; i += 256) (&A[0][0])[i] = 0;
  for (int i = threadIdx.x; i < 256 * 64 / 2; i += 256) B[i] = 0, B[i + 256 * 32] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const WgmmaOperand a({.start = A[threadIdx.x / 128]}), b({.start = B});
  float d[128] = {};
  const Clock clock;
  for (int turn = 0; turn < turns; ++turn) {
    wgmma_fence();
    for (int k = 0; k < 64; k += 16) wgmma<256, __nv_bfloat16>(d, a + k * 2, b + k * 2);
    wgmma_commit();
    wgmma_wait<0>(d);
  }
  clock.note(cycles);
  if (d[0] == 1) *sink = d[0];
}
#endif

__global__ void empty() {}
/// Holds the stream up, so that what follows has been launched before it can begin.
__global__ void wait_for(long long clocks) {
  for (const long long begin = clock64(); clock64() < begin + clocks;)
    ;
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
T median(std::vector<T> all) {
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  return all[all.size() / 2];
}

long long* cycles;
float* sink;

void print(const char* what, double value, const char* unit) {
  std::printf("%s,%.5g,%s\n", what, value, unit);
}

/// `amount`: what a block does. One block on each multiprocessor; the one that takes longest
/// counts.
template <class Launch>
void measure(const char* what, double amount, const char* unit, int blocks, const Launch& launch) {
  std::vector<long long> all(kRepeats), of_blocks(blocks);
  launch();
  for (long long& one : all) {
    launch();
    check(cudaGetLastError());
    check(cudaMemcpy(of_blocks.data(), cycles, blocks * sizeof one, cudaMemcpyDeviceToHost));
    one = *std::max_element(of_blocks.begin(), of_blocks.end());
  }
  print(what, amount / static_cast<double>(median(all)), unit);
}

/// Microseconds between two events around so many empty launches that have all been queued before.
double launches(int count) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> all(101);
  for (float& ms : all) {
    check(cudaDeviceSynchronize());
    wait_for<<<1, 1>>>(1000 * 1000);
    check(cudaEventRecord(begin));
    for (int i = 0; i < count; ++i) empty<<<1, 32>>>();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
  }
  return 1e3 * median(all);
}

}  // namespace

int main() {
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0));
  const int count = device.multiProcessorCount, twice = 2 * count;
  constexpr int64_t kLargest = int64_t{256} << 20;
  char* memory = nullptr;
  check(cudaMalloc(&memory, kLargest));
  check(cudaMemset(memory, 0, kLargest));
  check(cudaMalloc(&cycles, twice * sizeof(long long)));
  check(cudaMalloc(&sink, sizeof(float)));
  const char* const bytes = "bytes a cycle of a multiprocessor";

  std::puts("what,value,unit");
  for (const int mb : {4, 8, 16, 20, 24, 28, 32, 40, 48, 64, 96, 256}) {
    const int64_t size = int64_t{mb} << 20;
    const int rounds = std::max(4, 512 / mb);
    measure(("loads of 16 bytes from " + std::to_string(mb) + " MiB").c_str(),
            static_cast<double>(size) * rounds / count, bytes, twice, [&] {
              read_rounds<<<twice, kThreads>>>(reinterpret_cast<const int4*>(memory), size / 16,
                                               rounds, cycles, reinterpret_cast<int*>(sink));
            });
  }
  constexpr int64_t kInL2 = int64_t{8} << 20;
  constexpr int kRounds = 32;
  measure("stores of 16 bytes to 8 MiB", static_cast<double>(kInL2) * kRounds / count, bytes, twice,
          [&] {
            write_rounds<int4, 16>
                <<<twice, kThreads>>>(memory, kInL2, kRounds, cycles, int4{0, 0, 0, 0});
          });
  measure("stores of 4 bytes to 8 MiB", static_cast<double>(kInL2) * kRounds / count, bytes, twice,
          [&] { write_rounds<int, 4><<<twice, kThreads>>>(memory, kInL2, kRounds, cycles, 0); });
  measure("stores of 4 bytes to sectors in 8 MiB", static_cast<double>(kInL2) * kRounds / count,
          "bytes of sectors a cycle of a multiprocessor", twice,
          [&] { write_rounds<int, 32><<<twice, kThreads>>>(memory, kInL2, kRounds, cycles, 0); });
  measure("stores of 4 bytes to lines in 8 MiB", static_cast<double>(kInL2) / 4 * kRounds / count,
          "bytes of sectors a cycle of a multiprocessor", twice,
          [&] { write_rounds<int, 128><<<twice, kThreads>>>(memory, kInL2, kRounds, cycles, 0); });

  constexpr int kTurns = 4096, kWarps = kThreads / 32;
  const char* const requests = "requests of a warp a cycle";
  const auto lines = [&]<int LINES>() {
    measure(("loads from L1 of " + std::to_string(LINES) + " lines").c_str(), 2.0 * kTurns * kWarps,
            requests, twice,
            [&] { read_lines<LINES><<<twice, kThreads>>>(memory, kTurns, 4096, cycles, sink); });
  };
  lines.operator()<1>();
  lines.operator()<2>();
  lines.operator()<4>();
  lines.operator()<8>();
  lines.operator()<32>();
  measure("loads from shared memory", 2.0 * kTurns * kWarps, requests, twice,
          [&] { read_shared<<<twice, kThreads>>>(kTurns, cycles, sink); });

  const double operations = 4.0 * kTurns * kThreads * 2;
  measure("multiply-adds in fp32", operations, "a cycle", twice,
          [&] { chains<<<twice, kThreads>>>(kTurns, 0.0f, cycles, sink, MultiplyAdd{0.5f}); });
  measure("powers of 2", operations, "a cycle", twice,
          [&] { chains<<<twice, kThreads>>>(kTurns, 0.0f, cycles, sink, PowerOf2{}); });
  if (device.major >= 8)
    measure("multiply-adds by mma in bf16", 4.0 * kTurns * kWarps * 2 * 16 * 16 * 8, "a cycle",
            twice, [&] { mma_chains<<<twice, kThreads>>>(kTurns, cycles, sink); });
#if defined(WGMMA)
  measure("multiply-adds by wgmma in bf16", 4.0 * kTurns * 2 * 64 * 16 * 256, "a cycle", count,
          [&] { wgmma_chains<<<count, 256>>>(kTurns, cycles, sink); });
#endif
  for (const int threads : {128, 256, 1024}) {
    std::vector<long long> took(kRepeats);
    for (long long& one : took) {
      barriers<<<1, threads>>>(kTurns, cycles);
      check(cudaMemcpy(&one, cycles, sizeof one, cudaMemcpyDeviceToHost));
    }
    print(("a barrier of " + std::to_string(threads) + " threads").c_str(),
          static_cast<double>(median(took)) / kTurns, "cycles");
  }
  const double one = launches(1);
  print("an empty launch between two events", one, "µs");
  print("an empty launch after another", (launches(101) - one) / 100, "µs");
  check(cudaDeviceSynchronize());
  return 0;
}
