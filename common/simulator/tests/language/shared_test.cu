// Shared memory: static and dynamic, its sizes and limits.
#include <algorithm>
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr int kDefaultLimit = 48 * 1024;

/// out is in transposed: rows × cols becomes cols × rows.
__global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[16][17];
  int row = static_cast<int>(blockIdx.y * 16 + threadIdx.y);
  int col = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
  if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
  __syncthreads();
  row = static_cast<int>(blockIdx.y * 16 + threadIdx.x);
  col = static_cast<int>(blockIdx.x * 16 + threadIdx.y);
  if (row < rows && col < cols) out[col * rows + row] = tile[threadIdx.x][threadIdx.y];
}

/// A block that sees another block's memory writes something else than its own index.
__global__ void own_block(int* out) {
  __shared__ int mine[64];
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  mine[threadIdx.x] = static_cast<int>(blockIdx.x);
  __syncthreads();
  atomicAdd(&total, mine[(threadIdx.x + 13) % 64]);
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = total;
}

struct Pair {
  double weight;
  signed char tag;
};
template <class T, int N>
__device__ T rotate(T value, int by) {
  __shared__ T slots[N];
  slots[threadIdx.x] = value;
  __syncthreads();
  const T other = slots[(threadIdx.x + static_cast<unsigned>(by)) % N];
  __syncthreads();
  return other;
}
/// One function, three arrays: one for each instance.
__global__ void instances(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int a = rotate<int, 64>(t, 1);
  const float b = rotate<float, 64>(static_cast<float>(t), 2);
  const Pair c = rotate<Pair, 64>({static_cast<double>(t), static_cast<signed char>(-t)}, 3);
  out[t] = a + 100 * static_cast<int>(b) + 10000 * static_cast<int>(c.weight) - c.tag;
}

__global__ void reverse(int* values, int count) {
  extern __shared__ int reversed[];
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    reversed[count - 1 - i] = values[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    values[i] = reversed[i];
}

/// One allocation for three arrays of different types, beside a static one.
__global__ void carved(int* out) {
  extern __shared__ __align__(16) unsigned char bytes[];
  __shared__ int fixed[32];
  float4* const quads = reinterpret_cast<float4*>(bytes);
  double* const doubles = reinterpret_cast<double*>(bytes + 32 * sizeof(float4));
  unsigned char* const small = bytes + 32 * (sizeof(float4) + sizeof(double));
  const unsigned t = threadIdx.x;
  const float f = static_cast<float>(t);
  quads[t] = make_float4(f, f + 1, f + 2, f + 3);
  doubles[t] = t;
  small[t] = static_cast<unsigned char>(t);
  fixed[t] = static_cast<int>(t);
  __syncthreads();
  const unsigned other = 31 - t;
  const float4 quad = quads[other];
  out[t] = static_cast<int>(quad.x + quad.y + quad.z + quad.w) + static_cast<int>(doubles[other]) +
           small[other] + fixed[other];
}

template <class T>
__global__ void through_dynamic(const T* in, T* out) {
  extern __shared__ __align__(16) char raw[];
  T* const slots = reinterpret_cast<T*>(raw);
  slots[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = slots[blockDim.x - 1 - threadIdx.x];
}

__global__ void with_32_kilobytes(int* out) {
  __shared__ int fixed[8 * 1024];
  extern __shared__ int after_fixed[];
  fixed[threadIdx.x] = 1;
  after_fixed[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = fixed[31 - threadIdx.x] + after_fixed[31 - threadIdx.x];
}
__global__ void opts_in(int* values, int count) {
  extern __shared__ int large[];
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) large[i] = i;
  __syncthreads();
  int sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) sum += large[count - 1 - i] % 7;
  values[threadIdx.x] = sum;
}
__global__ void never_opts_in(int* out) {
  extern __shared__ int unused[];
  out[0] = unused[0] = 1;
}

std::vector<int> counted(int count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

TEST_CASE("a two-dimensional tile", "[shared]") {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {16, 16}, {45, 70}, {130, 7}}) {
    std::vector<float> in(rows * cols);
    std::iota(in.begin(), in.end(), 0.0f);
    const tutorial::DeviceBuffer<float> source(in);
    const dim3 grid((cols + 15) / 16, (rows + 15) / 16), block(16, 16);
    const auto got = run_kernel<float>(rows * cols, [&, rows = rows, cols = cols](float* out) {
      transpose<<<grid, block>>>(source.data(), out, rows, cols);
    });
    bool same = true;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) same &= got[c * rows + r] == in[r * cols + c];
    CHECK(same);
  }
}

TEST_CASE("each block has shared memory of its own", "[shared]") {
  const auto got = run_kernel<int>(500 * 64, [](int* out) { own_block<<<500, 64>>>(out); });
  for (int i = 0; i < 500 * 64; i += 37) CHECK(got[i] == i / 64 * 64);
}

TEST_CASE("shared arrays in function templates", "[shared]") {
  const auto got = run_kernel<int>(64, [](int* out) { instances<<<1, 64>>>(out); });
  for (int t = 0; t < 64; ++t)
    CHECK(got[t] == (t + 1) % 64 + 100 * ((t + 2) % 64) + 10001 * ((t + 3) % 64));
}

TEST_CASE("dynamic shared memory has the size of the launch", "[shared]") {
  for (const int count : {1, 100, 1000, kDefaultLimit / 4}) {
    tutorial::DeviceBuffer<int> values(counted(count));
    reverse<<<1, 128, count * sizeof(int)>>>(values.data(), count);
    CUDA_CHECK_LAUNCH();
    std::vector<int> got = values.to_host();
    std::reverse(got.begin(), got.end());
    CHECK(got == counted(count));
  }
}

TEST_CASE("dynamic shared memory is aligned and can be carved up", "[shared]") {
  const auto got = run_kernel<int>(
      32, [](int* out) { carved<<<1, 32, 32 * (sizeof(float4) + sizeof(double) + 1)>>>(out); });
  for (int t = 0; t < 32; ++t) CHECK(got[t] == 7 * (31 - t) + 6);
}

TEST_CASE("dynamic shared memory in a kernel template", "[shared]") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    std::vector<T> in(64);
    std::iota(in.begin(), in.end(), zero);
    const tutorial::DeviceBuffer<T> source(in);
    const auto got = run_kernel<T>(
        64, [&](T* out) { through_dynamic<<<1, 64, 64 * sizeof(T)>>>(source.data(), out); });
    std::reverse(in.begin(), in.end());
    CHECK(got == in);
  };
  check(0.0f);
  check(0.0);
  check(static_cast<unsigned char>(0));
  check(0LL);
}

TEST_CASE("more than 48 KB of shared memory must be asked for", "[shared]") {
  tutorial::DeviceBuffer<int> out(32);
  opts_in<<<1, 32, kDefaultLimit>>>(out.data(), kDefaultLimit / 4);
  CHECK(cudaGetLastError() == cudaSuccess);
  opts_in<<<1, 32, kDefaultLimit + 4>>>(out.data(), kDefaultLimit / 4);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);

  int limit = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  REQUIRE(limit > kDefaultLimit);
  CHECK(cudaFuncSetAttribute(opts_in, cudaFuncAttributeMaxDynamicSharedMemorySize, limit + 1) ==
        cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  for (const int bytes : {64 * 1024, limit}) {
    CUDA_CHECK(cudaFuncSetAttribute(opts_in, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    const int count = bytes / 4;
    opts_in<<<1, 32, bytes>>>(out.data(), count);
    CUDA_CHECK_LAUNCH();
    const std::vector<int> got = out.to_host();
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += i % 7;
    CHECK(std::accumulate(got.begin(), got.end(), int64_t{0}) == sum);
  }
  // What one kernel was allowed, another was not.
  never_opts_in<<<1, 32, 64 * 1024>>>(out.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("static and dynamic shared memory share the 48 KB", "[shared]") {
  tutorial::DeviceBuffer<int> out(32);
  with_32_kilobytes<<<1, 32, 16 * 1024>>>(out.data());
  CUDA_CHECK_LAUNCH();
  CHECK(out.to_host() == std::vector<int>(32, 3));
  out.poison();
  with_32_kilobytes<<<1, 32, 16 * 1024 + 4>>>(out.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(out.to_host() == std::vector<int>(32, -1));

  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, with_32_kilobytes));
  CHECK(attributes.sharedSizeBytes == 32 * 1024);
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, reverse));
  CHECK(attributes.sharedSizeBytes == 0);
}
