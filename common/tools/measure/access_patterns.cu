// Lets one warp make one access after another, as the lines of access_patterns.csv say, for Nsight
// Compute to count: common/tools/measure/access_patterns.py runs it. Each pattern launches
// load_shared, store_shared, store_global and, of 4-byte accesses, add_global, in this order; a
// pattern of matrix_patterns.csv load_matrix or store_matrix.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "common/kernel/mma.cuh"

namespace {

constexpr int kBytes = 32 * 1024;  // all patterns lie within

struct Pattern {
  unsigned lanes;
  uint32_t at[32];  // byte offsets
};

template <class T>
__global__ void load_shared(Pattern pattern, T* out) {
  __shared__ alignas(16) unsigned char bytes[kBytes];
  for (int i = threadIdx.x; i < kBytes / 4; i += 32) reinterpret_cast<int*>(bytes)[i] = i;
  __syncthreads();
  if (pattern.lanes >> threadIdx.x & 1)
    out[threadIdx.x] = *reinterpret_cast<const T*>(bytes + pattern.at[threadIdx.x]);
}

template <class T>
__global__ void store_shared(Pattern pattern, T value, T* out) {
  __shared__ alignas(16) unsigned char bytes[kBytes];
  if (pattern.lanes >> threadIdx.x & 1)
    *reinterpret_cast<T*>(bytes + pattern.at[threadIdx.x]) = value;
  __syncthreads();
  if (out != nullptr) out[threadIdx.x] = reinterpret_cast<const T*>(bytes)[threadIdx.x];
}

template <class T>
__global__ void store_global(Pattern pattern, T value, unsigned char* bytes) {
  if (pattern.lanes >> threadIdx.x & 1)
    *reinterpret_cast<T*>(bytes + pattern.at[threadIdx.x]) = value;
}

__global__ void add_global(Pattern pattern, unsigned char* bytes) {
  if (pattern.lanes >> threadIdx.x & 1)
    atomicAdd(reinterpret_cast<int*>(bytes + pattern.at[threadIdx.x]), 1);
}

template <int COUNT, bool TRANS>
__global__ void load_matrix(Pattern pattern, uint32_t* out) {
  __shared__ alignas(16) unsigned char bytes[kBytes];
  for (int i = threadIdx.x; i < kBytes / 4; i += 32) reinterpret_cast<int*>(bytes)[i] = i;
  __syncthreads();
  uint32_t fragment[COUNT];
  if (TRANS)
    tutorial::ldmatrix_trans<COUNT>(fragment, bytes + pattern.at[threadIdx.x]);
  else
    tutorial::ldmatrix<COUNT>(fragment, bytes + pattern.at[threadIdx.x]);
  for (int i = 0; i < COUNT; ++i) out[i * 32 + threadIdx.x] = fragment[i];
}

template <int COUNT>
__global__ void store_matrix(Pattern pattern, uint32_t* out) {
  __shared__ alignas(16) unsigned char bytes[kBytes];
  uint32_t fragment[COUNT];
  for (int i = 0; i < COUNT; ++i) fragment[i] = threadIdx.x + i;
  tutorial::stmatrix<COUNT>(bytes + pattern.at[threadIdx.x], fragment);
  __syncthreads();
  if (out != nullptr) out[threadIdx.x] = reinterpret_cast<const uint32_t*>(bytes)[threadIdx.x];
}

template <int COUNT>
void run_matrix(const std::string& word, const Pattern& pattern, uint32_t* memory) {
  if (word == "ldmatrix") load_matrix<COUNT, false><<<1, 32>>>(pattern, memory);
  if (word == "ldmatrix_trans") load_matrix<COUNT, true><<<1, 32>>>(pattern, memory);
  if (word == "stmatrix") store_matrix<COUNT><<<1, 32>>>(pattern, nullptr);
}

template <class T>
void run(const Pattern& pattern, T value, unsigned char* memory) {
  load_shared<T><<<1, 32>>>(pattern, reinterpret_cast<T*>(memory));
  store_shared<T><<<1, 32>>>(pattern, value, nullptr);
  store_global<T><<<1, 32>>>(pattern, value, memory);
}

}  // namespace

int main() {
  unsigned char* memory = nullptr;
  cudaMalloc(&memory, kBytes);
  for (std::string line; std::getline(std::cin, line);) {
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream words(line);
    int width = 0, count = 0;
    Pattern pattern{};
    std::string word;  // of a pattern for matrices
    if (line.find("matrix") != line.npos) words >> word >> count;
    if (word.empty() && !(words >> width >> std::hex >> pattern.lanes >> std::dec))
      continue;  // the heads
    for (uint32_t& at : pattern.at) words >> at;
    if (count == 1) run_matrix<1>(word, pattern, reinterpret_cast<uint32_t*>(memory));
    if (count == 2) run_matrix<2>(word, pattern, reinterpret_cast<uint32_t*>(memory));
    if (count == 4) run_matrix<4>(word, pattern, reinterpret_cast<uint32_t*>(memory));
    if (width == 4) run(pattern, 1, memory);
    if (width == 4) add_global<<<1, 32>>>(pattern, memory);
    if (width == 8) run(pattern, make_int2(1, 2), memory);
    if (width == 16) run(pattern, make_int4(1, 2, 3, 4), memory);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
