// Ways to hold and to move data: storage of every kind, cached loads, fences, rows with a pitch.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

// ---- Storage

static __constant__ int weights[3];
__constant__ static const float half = 0.5f;
__device__ static int tally;
__managed__ int managed_total = 5;

struct alignas(16) Particle {
  float position[3];
  int id;
};
struct __align__(8) Pair {
  int first, second;
};

__global__ void storage(const __grid_constant__ Particle particle, Pair* pairs, float* out) {
  static __shared__ int order[32];
  __shared__ static float scale;
  volatile __shared__ int flag;
  const int t = threadIdx.x;
  if (t == 0) {
    scale = half;
    flag = 3;
  }
  order[t] = weights[t % 3];
  __syncthreads();
  out[t] = scale * order[(t + 1) % 32] + particle.position[t % 3] + flag;
  pairs[t] = {t, particle.id};
  atomicAdd(&tally, 1);
  if (t == 0) managed_total += particle.id;
}

// ---- Loads and stores with a hint

template <class T>
__global__ void hinted(const T* in, T* out) {
  out[0] = __ldg(&in[0]);
  out[1] = __ldca(&in[1]);
  out[2] = __ldcg(&in[2]);
  __stcg(&out[3], __ldcs(&in[3]));
  __stcs(&out[4], __ldcv(&in[4]));
  __stwb(&out[5], __ldlu(&in[5]));
  __stwt(&out[6], in[6]);
}
/// The value converts to what the pointer points to.
__global__ void store_converts(float* out) {
  __stcs(&out[0], 3);
  __stcg(&out[1], 4);
}

template <class T>
void check_hinted(std::vector<T> values) {
  const tutorial::DeviceBuffer<T> in(values);
  const auto got = run_kernel<T>(7, [&](T* out) { hinted<<<1, 1>>>(in.data(), out); });
  CHECK(std::memcmp(got.data(), values.data(), 7 * sizeof(T)) == 0);
}

// ---- Vector types

// clang-format off
#define ALL_VECTORS(M)                                                                   \
  M(char, signed char) M(uchar, unsigned char) M(short, short) M(ushort, unsigned short) \
  M(int, int) M(uint, unsigned) M(long, long) M(ulong, unsigned long)                    \
  M(longlong, long long) M(ulonglong, unsigned long long) M(float, float) M(double, double)
// clang-format on

/// Reverses the components of n vectors of each width; each kind of vector goes through make_….
#define VECTOR_KERNEL(base, type)                                                            \
  __global__ void vectors_of_##base(const type* in, type* out) {                             \
    const base##1 one = make_##base##1(in[0]);                                               \
    const base##2 two = *reinterpret_cast<const base##2 *>(in + 4);                          \
    const base##3 three = make_##base##3(in[8], in[9], in[10]);                              \
    const base##4 four = *reinterpret_cast<const base##4 *>(in + 12);                        \
    *reinterpret_cast<base##1 *>(out) = one;                                                 \
    *reinterpret_cast<base##2 *>(out + 4) = make_##base##2(two.y, two.x);                    \
    *reinterpret_cast<base##3 *>(out + 8) = make_##base##3(three.z, three.y, three.x);       \
    *reinterpret_cast<base##4 *>(out + 12) = make_##base##4(four.w, four.z, four.y, four.x); \
    out[1] = sizeof(base##1) / sizeof(type);                                                 \
    out[2] = sizeof(base##2) / sizeof(type);                                                 \
    out[3] = sizeof(base##3) / sizeof(type);                                                 \
    out[6] = sizeof(base##4) / sizeof(type);                                                 \
    out[7] = alignof(base##2);                                                               \
    out[11] = alignof(base##4);                                                              \
  }
// CUDA 13 would rather have its new names for the vectors of 32 bytes.
#pragma nv_diag_suppress 1444
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ALL_VECTORS(VECTOR_KERNEL)

/// 16 bytes is the widest alignment.
template <class T>
std::vector<T> vectors_on_host() {
  const auto aligned = [](size_t bytes) { return static_cast<T>(bytes < 16 ? bytes : 16); };
  return {1,  1,  2,  3, 6, 5, 4, aligned(2 * sizeof(T)), 11, 10, 9, aligned(4 * sizeof(T)),
          16, 15, 14, 13};
}

// ---- Order

/// Warp 0 hands a value to warp 1 through global memory: a fence, and the block's barrier.
__global__ void hand_over(int* mail, int* out) {
  if (threadIdx.x < 32) {
    mail[threadIdx.x] = threadIdx.x + 1;
    __threadfence_block();
    __threadfence();
    __threadfence_system();
  }
  __syncthreads();
  if (threadIdx.x >= 32) out[threadIdx.x - 32] = mail[63 - threadIdx.x];
}

__global__ void clocks(long long* out) {
  const long long before = clock64();
  __nanosleep(10);
  out[0] = clock64() - before;
}

// ---- Leaving early, rightly

/// Blocks beyond the end leave as a whole; in the others every thread comes to the barrier, and
/// some leave after the last one.
__global__ void leaves_rightly(const int* in, int n, int* out) {
  __shared__ int tile[64];
  const int first = blockIdx.x * 64, t = threadIdx.x;
  if (first >= n) return;
  tile[t] = first + t < n ? in[first + t] : 0;
  __syncthreads();
  if (t >= 32) return;
  int sum = tile[t] + tile[t + 32];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (t > 0) return;
  out[blockIdx.x] = sum;
}

/// One warp has left before the others vote among themselves.
__global__ void warps_leave(unsigned* out) {
  const unsigned warp = threadIdx.x / 32;
  if (warp == 1) return;
  const unsigned ballot = __ballot_sync(0xffffffffu, threadIdx.x % 3 == 0);
  __syncwarp();
  out[threadIdx.x] = ballot;
}

// ---- Three dimensions

/// Each element of a box counts itself and its neighbours that exist; the box is no multiple of the
/// block in any direction.
__global__ void neighbours(int nx, int ny, int nz, int* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const int across = 1 + (x > 0) + (x < nx - 1);
  const int up = 1 + (y > 0) + (y < ny - 1);
  const int deep = 1 + (z > 0) + (z < nz - 1);
  out[(z * ny + y) * nx + x] = 100 * across + 10 * up + deep;
}

__global__ void add_to(int* values, int n, int amount) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 2 + amount;
}

}  // namespace

TEST_CASE("constant, device, managed and shared variables, static and not", "[memory]") {
  const int three[] = {10, 20, 30}, zero = 0;
  CUDA_CHECK(cudaMemcpyToSymbol(weights, three, sizeof three));
  CUDA_CHECK(cudaMemcpyToSymbol(tally, &zero, sizeof zero));
  managed_total = 5;
  Particle particle{};
  particle.position[1] = 1000;
  particle.id = 7;
  tutorial::DeviceBuffer<Pair> pairs(32);
  const auto got =
      run_kernel<float>(32, [&](float* out) { storage<<<1, 32>>>(particle, pairs.data(), out); });
  const auto got_pairs = pairs.to_host();
  for (int t = 0; t < 32; ++t) {
    CHECK(got[t] == 0.5f * three[(t + 1) % 32 % 3] + (t % 3 == 1 ? 1000 : 0) + 3);
    CHECK(got_pairs[t].first == t);
    CHECK(got_pairs[t].second == 7);
  }
  int count = 0;
  CUDA_CHECK(cudaMemcpyFromSymbol(&count, tally, sizeof count));
  CHECK(count == 32);
  CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(managed_total == 12);
}

TEST_CASE("loads and stores with a hint change no value", "[memory]") {
  check_hinted<int>({1, 2, 3, 4, 5, 6, 7});
  check_hinted<double>({1, 2, 3, 4, 5, 6, 7.5});
  check_hinted<unsigned char>({1, 2, 3, 4, 5, 6, 255});
  check_hinted<float4>({{1, 2, 3, 4},
                        {5, 6, 7, 8},
                        {9, 8, 7, 6},
                        {0, 0, 0, 1},
                        {2, 2, 2, 2},
                        {12, 0, 3, 4},
                        {1, 2, 3, 5}});
  check_hinted<int2>({{1, 2}, {3, 4}, {5, 6}, {6, 7}, {7, 7}, {8, -1}, {9, 10}});
  CHECK(run_kernel<float>(2, [](float* out) { store_converts<<<1, 1>>>(out); }) ==
        std::vector<float>{3, 4});
}

#define CHECK_VECTORS(base, type)                                                                  \
  {                                                                                                \
    std::vector<type> values(16);                                                                  \
    std::iota(values.begin(), values.end(), static_cast<type>(1));                                 \
    const tutorial::DeviceBuffer<type> in(values);                                                 \
    INFO(#base);                                                                                   \
    CHECK(run_kernel<type>(16, [&](type* out) { vectors_of_##base<<<1, 1>>>(in.data(), out); }) == \
          vectors_on_host<type>());                                                                \
  }
TEST_CASE("every vector type", "[memory]"){ALL_VECTORS(CHECK_VECTORS)}

TEST_CASE("fences and the clock", "[memory]") {
  tutorial::DeviceBuffer<int> mail(32);
  const auto got = run_kernel<int>(32, [&](int* out) { hand_over<<<1, 64>>>(mail.data(), out); });
  for (int t = 0; t < 32; ++t) CHECK(got[t] == 32 - t);
  CHECK(run_kernel<long long>(1, [](long long* out) { clocks<<<1, 1>>>(out); })[0] >= 0);
}

TEST_CASE("blocks, warps and threads that leave when they may", "[memory]") {
  for (int n : {1, 64, 200}) {
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 1);
    const tutorial::DeviceBuffer<int> in(values);
    const auto got =
        run_kernel<int>(6, [&](int* out) { leaves_rightly<<<6, 64>>>(in.data(), n, out); });
    for (int b = 0; b < 6; ++b) {
      int want = 64 * b < n ? 0 : -1;  // -1: as it was
      for (int i = 64 * b; i < std::min(n, 64 * b + 64); ++i) want += values[i];
      CHECK(got[b] == want);
    }
  }
  const auto ballots = run_kernel<unsigned>(96, [](unsigned* out) { warps_leave<<<1, 96>>>(out); });
  CHECK(ballots[0] == 0x49249249u);   // lanes 0, 3, 6, …
  CHECK(ballots[32] == 0xffffffffu);  // never written
  CHECK(ballots[64] == 0x24924924u);  // thread 66 is the first, in lane 2
}

TEST_CASE("a box that is no multiple of the block", "[memory]") {
  for (const auto& [nx, ny, nz] : {std::array{1, 1, 1}, {5, 7, 3}, {17, 2, 9}}) {
    const dim3 block(4, 3, 2);
    const dim3 grid((nx + 3) / 4, (ny + 2) / 3, (nz + 1) / 2);
    const int x_size = nx, y_size = ny, z_size = nz;
    const auto got = run_kernel<int>(
        nx * ny * nz, [&](int* out) { neighbours<<<grid, block>>>(x_size, y_size, z_size, out); });
    const auto along = [](int i, int n) { return n == 1 ? 1 : i == 0 || i == n - 1 ? 2 : 3; };
    int wrong = 0;
    for (int i = 0; i < nx * ny * nz; ++i)
      wrong += got[i] !=
               100 * along(i % nx, nx) + 10 * along(i / nx % ny, ny) + along(i / (nx * ny), nz);
    CHECK(wrong == 0);
  }
}

TEST_CASE("several streams, each in its own order", "[memory]") {
  constexpr int kStreams = 4, kCount = 500;
  cudaStream_t streams[kStreams];
  std::vector<tutorial::DeviceBuffer<int>> buffers;
  for (cudaStream_t& stream : streams) {
    CUDA_CHECK(cudaStreamCreate(&stream));
    buffers.emplace_back(std::vector<int>(kCount, 1));
  }
  for (int round = 0; round < 5; ++round)
    for (int s = 0; s < kStreams; ++s)
      add_to<<<4, 128, 0, streams[s]>>>(buffers[s].data(), kCount, s + round);
  CUDA_CHECK_LAUNCH();
  for (int s = 0; s < kStreams; ++s) {
    CUDA_CHECK(cudaStreamSynchronize(streams[s]));
    int want = 1;
    for (int round = 0; round < 5; ++round) want = 2 * want + s + round;
    CHECK(buffers[s].to_host() == std::vector<int>(kCount, want));
    CUDA_CHECK(cudaStreamDestroy(streams[s]));
  }
}

TEST_CASE("rows with a pitch", "[memory]") {
  unsigned char* rows = nullptr;
  size_t pitch = 0;
  CUDA_CHECK(cudaMallocPitch(&rows, &pitch, 70, 5));
  REQUIRE(pitch >= 70);
  CUDA_CHECK(cudaMemset(rows, 9, pitch * 5));
  CUDA_CHECK(cudaMemset2D(rows + pitch, pitch, 1, 70, 3));
  CUDA_CHECK(cudaMemset2DAsync(rows + 2 * pitch + 3, pitch, 2, 4, 2));
  std::vector<unsigned char> got(10 * 5);
  CUDA_CHECK(cudaMemcpy2DAsync(got.data(), 10, rows, pitch, 10, 5, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaDeviceSynchronize());
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 10; ++col) {
      const bool in_second = (row == 2 || row == 3) && col >= 3 && col < 7;
      CHECK(got[row * 10 + col] == (in_second ? 2 : row >= 1 && row < 4 ? 1 : 9));
    }
  CUDA_CHECK(cudaFree(rows));

  CHECK(cudaMallocPitch(static_cast<void**>(nullptr), &pitch, 4, 4) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  // No device has so much, and no row may be so long: either may be told.
  const cudaError_t error = cudaMallocPitch(&rows, &pitch, size_t{1} << 40, size_t{1} << 20);
  CHECK((error == cudaErrorMemoryAllocation || error == cudaErrorInvalidValue));
  CHECK(cudaGetLastError() == error);
}

TEST_CASE("the pool of cudaMallocAsync takes a threshold", "[memory]") {
  cudaMemPool_t pool = nullptr;
  uint64_t all = UINT64_MAX;
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 1000) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}
