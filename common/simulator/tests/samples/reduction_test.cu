// The sum of an array: the ladder that every course on CUDA climbs.
#include "common/simulator/tests/run_kernel.hpp"

namespace {

// ---- One partial sum per block, one element per thread

__global__ void sum_interleaved(const int* in, int* out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}

/// The threads that add are neighbours; their addresses are not.
__global__ void sum_strided_index(const int* in, int* out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    unsigned int index = 2 * s * tid;
    if (index < blockDim.x) sdata[index] += sdata[index + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void sum_sequential(const int* in, int* out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}

// ---- Two elements per thread

__global__ void sum_add_on_load(const int* in, int* out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  int sum = i < n ? in[i] : 0;
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  sdata[tid] = sum;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] = sum = sum + sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sum;
}

/// The last warp needs no barrier of the block.
template <class T, unsigned int BLOCK>
__device__ void last_warp(T* sdata, unsigned int tid) {
  T sum = sdata[tid];
  if constexpr (BLOCK >= 64) {
    sum += sdata[tid + 32];
    __syncwarp();
    sdata[tid] = sum;
    __syncwarp();
  }
#pragma unroll
  for (unsigned int s = 16; s > 0; s >>= 1) {
    if (tid < s) sum += sdata[tid + s];
    __syncwarp();
    if (tid < s) sdata[tid] = sum;
    __syncwarp();
  }
}

/// Unrolled to the end, with as many elements per thread as the grid leaves.
template <class T, unsigned int BLOCK>
__global__ void sum_unrolled(const T* in, T* out, unsigned int n) {
  __shared__ T sdata[BLOCK];
  unsigned int tid = threadIdx.x;
  T sum = 0;
  for (unsigned int i = blockIdx.x * BLOCK * 2 + tid; i < n; i += BLOCK * 2 * gridDim.x) {
    sum += in[i];
    if (i + BLOCK < n) sum += in[i + BLOCK];
  }
  sdata[tid] = sum;
  __syncthreads();
  if (BLOCK >= 512) {
    if (tid < 256) sdata[tid] += sdata[tid + 256];
    __syncthreads();
  }
  if (BLOCK >= 256) {
    if (tid < 128) sdata[tid] += sdata[tid + 128];
    __syncthreads();
  }
  if (BLOCK >= 128) {
    if (tid < 64) sdata[tid] += sdata[tid + 64];
    __syncthreads();
  }
  if (tid < 32) last_warp<T, BLOCK>(sdata, tid);
  if (tid == 0) out[blockIdx.x] = sdata[0];
}

// ---- Shuffles

template <class T>
__inline__ __device__ T warp_sum(T value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}
/// Valid in thread 0.
template <class T>
__inline__ __device__ T block_sum(T value) {
  static __shared__ T partial[32];
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / warpSize ? partial[lane] : T(0);
  if (warp == 0) value = warp_sum(value);
  return value;
}

template <class T>
__global__ void sum_shuffles(const T* in, T* out, unsigned int n) {
  T sum = 0;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// ---- One launch for the whole sum

/// *out starts as 0.
__global__ void sum_atomics(const int* in, int* out, unsigned int n) {
  int sum = 0;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    sum += in[i];
  sum = warp_sum(sum);
  if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(out, sum);
}

__device__ unsigned int retirement_count = 0;

/// The block that is done last adds the partial sums.
template <unsigned int BLOCK>
__global__ void sum_single_pass(const int* in, volatile int* partial, int* out, unsigned int n) {
  __shared__ bool am_last;
  int sum = 0;
  for (unsigned int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += BLOCK * gridDim.x)
    sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    unsigned int ticket = atomicInc(&retirement_count, gridDim.x);
    am_last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (am_last) {
    sum = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += BLOCK) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
      *out = sum;
      retirement_count = 0;  // for the next launch
    }
  }
}

// ---- Host

using PartialSums = void (*)(const int*, int*, unsigned int);

/// Launches until one sum is left.
int reduce_by_passes(PartialSums kernel, const tutorial::DeviceBuffer<int>& in, int threads,
                     int per_block, size_t shared) {
  int n = static_cast<int>(in.size());
  tutorial::DeviceBuffer<int> buffers[2] = {tutorial::DeviceBuffer<int>(n),
                                            tutorial::DeviceBuffer<int>(n)};
  const int* from = in.data();
  for (int pass = 0; n > 1 || pass == 0; ++pass) {
    const int blocks = (n + per_block - 1) / per_block;
    kernel<<<blocks, threads, shared>>>(from, buffers[pass % 2].data(), n);
    CUDA_CHECK_LAUNCH();
    from = buffers[pass % 2].data();
    n = blocks;
  }
  int sum = 0;
  CUDA_CHECK(cudaMemcpy(&sum, from, sizeof(int), cudaMemcpyDeviceToHost));
  return sum;
}

constexpr int kSizes[] = {1, 2, 31, 33, 256, 1000, 4096, 40001};

std::vector<int> values_for(int n) {
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i * 7919 % 1000 - 300;
  return values;
}
int sum_of(const std::vector<int>& values) {
  int sum = 0;
  for (int value : values) sum += value;
  return sum;
}

}  // namespace

TEST_CASE("sample: reduction in several passes", "[sample]") {
  for (int n : kSizes) {
    const std::vector<int> values = values_for(n);
    const tutorial::DeviceBuffer<int> in(values);
    const int want = sum_of(values);
    for (int threads : {32, 64, 256}) {
      CAPTURE(n, threads);
      const size_t shared = threads * sizeof(int);
      CHECK(reduce_by_passes(sum_interleaved, in, threads, threads, shared) == want);
      CHECK(reduce_by_passes(sum_strided_index, in, threads, threads, shared) == want);
      CHECK(reduce_by_passes(sum_sequential, in, threads, threads, shared) == want);
      CHECK(reduce_by_passes(sum_add_on_load, in, threads, 2 * threads, shared) == want);
      CHECK(reduce_by_passes(sum_shuffles<int>, in, threads, threads, 0) == want);
    }
    CHECK(reduce_by_passes(sum_unrolled<int, 32>, in, 32, 64, 0) == want);
    CHECK(reduce_by_passes(sum_unrolled<int, 64>, in, 64, 128, 0) == want);
    CHECK(reduce_by_passes(sum_unrolled<int, 128>, in, 128, 256, 0) == want);
    CHECK(reduce_by_passes(sum_unrolled<int, 512>, in, 512, 4096, 0) == want);
  }
}

TEST_CASE("sample: reduction in two passes, of float and double", "[sample]") {
  const auto check = [](auto zero, double epsilon) {
    using T = decltype(zero);
    for (int n : kSizes) {
      CAPTURE(n, sizeof(T));
      std::vector<T> values(n);
      double want = 0, magnitude = 0;
      for (int i = 0; i < n; ++i) {
        values[i] = static_cast<T>(i * 7919 % 1000 - 300) / T(7);
        want += values[i];
        magnitude += std::abs(static_cast<double>(values[i]));
      }
      const tutorial::DeviceBuffer<T> in(values);
      const int blocks = 24;
      tutorial::DeviceBuffer<T> partial(blocks);
      const auto by_tree = run_kernel<T>(1, [&](T* out) {
        sum_unrolled<T, 128><<<blocks, 128>>>(in.data(), partial.data(), n);
        sum_unrolled<T, 32><<<1, 32>>>(partial.data(), out, blocks);
      });
      const auto by_shuffles = run_kernel<T>(1, [&](T* out) {
        sum_shuffles<<<blocks, 128>>>(in.data(), partial.data(), n);
        sum_shuffles<<<1, 32>>>(partial.data(), out, blocks);
      });
      // Each element goes through at most n/(24·128) + 20 additions in any of these orders.
      const double bound = (n / (blocks * 128.0) + 20) * epsilon * magnitude;
      CHECK(std::abs(by_tree[0] - want) <= bound);
      CHECK(std::abs(by_shuffles[0] - want) <= bound);
    }
  };
  check(0.0f, 0x1p-24);
  check(0.0, 0x1p-50);  // the host's sum is rounded as well
}

TEST_CASE("sample: reduction in one launch", "[sample]") {
  for (int n : kSizes) {
    const std::vector<int> values = values_for(n);
    const tutorial::DeviceBuffer<int> in(values);
    const int want = sum_of(values);
    for (int blocks : {1, 5, 64}) {
      CAPTURE(n, blocks);
      CHECK(run_kernel<int>(1, [&](int* out) {
              CUDA_CHECK(cudaMemset(out, 0, sizeof(int)));
              sum_atomics<<<blocks, 96>>>(in.data(), out, n);
            })[0] == want);
      tutorial::DeviceBuffer<int> partial(blocks);
      for (int repeat = 0; repeat < 2; ++repeat)
        CHECK(run_kernel<int>(1, [&](int* out) {
                sum_single_pass<128><<<blocks, 128>>>(in.data(), partial.data(), out, n);
              })[0] == want);
    }
  }
}
