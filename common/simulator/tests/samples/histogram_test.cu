// A histogram of bytes in 256 bins: three ways to count without losing any.
#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr int BINS = 256;
constexpr int WARPS = 4;

__global__ void histogram_global(const unsigned char* data, int n, unsigned int* histo) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&histo[data[i]], 1);
}

/// Blocks of 256 threads: a bin each.
__global__ void histogram_shared(const unsigned char* data, int n, unsigned int* histo) {
  __shared__ unsigned int temp[BINS];
  temp[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&temp[data[i]], 1);
  __syncthreads();
  atomicAdd(&histo[threadIdx.x], temp[threadIdx.x]);
}

/// One histogram per warp; four bytes per load. The blocks' own results are merged later.
__global__ void histogram_per_warp(const uchar4* data, int n4, unsigned int* partial) {
  __shared__ unsigned int warp_histo[WARPS * BINS];
  unsigned int* mine = warp_histo + (threadIdx.x >> 5) * BINS;
  for (int i = threadIdx.x; i < WARPS * BINS; i += blockDim.x) warp_histo[i] = 0;
  __syncthreads();
  for (int pos = blockIdx.x * blockDim.x + threadIdx.x; pos < n4; pos += blockDim.x * gridDim.x) {
    uchar4 four = data[pos];
    atomicAdd(mine + four.x, 1);
    atomicAdd(mine + four.y, 1);
    atomicAdd(mine + four.z, 1);
    atomicAdd(mine + four.w, 1);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    unsigned int sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += warp_histo[w * BINS + bin];
    partial[blockIdx.x * BINS + bin] = sum;
  }
}
/// Block b adds up bin b of all partial histograms.
__global__ void merge_histograms(const unsigned int* partial, int count, unsigned int* histo) {
  __shared__ unsigned int data[64];
  unsigned int sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += partial[blockIdx.x + i * BINS];
  data[threadIdx.x] = sum;
  for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    if (threadIdx.x < stride) data[threadIdx.x] += data[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) histo[blockIdx.x] = data[0];
}

/// Lanes that hold the same byte send one of them, which adds for all.
__global__ void histogram_aggregated(const unsigned char* data, int n, unsigned int* histo) {
  const int rounds = (n + blockDim.x * gridDim.x - 1) / (blockDim.x * gridDim.x);
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  for (int r = 0; r < rounds; ++r, i += blockDim.x * gridDim.x) {
    unsigned int here = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
      unsigned int same = __match_any_sync(here, static_cast<unsigned int>(data[i]));
      if (static_cast<int>(threadIdx.x & 31) == __ffs(same) - 1)
        atomicAdd(&histo[data[i]], __popc(same));
    }
  }
}

}  // namespace

TEST_CASE("sample: histogram", "[sample]") {
  for (int n : {0, 1, 4, 255, 1000, 4099, 30000})
    for (bool skewed : {false, true}) {
      CAPTURE(n, skewed);
      std::vector<unsigned char> data(n);
      std::vector<unsigned int> want(BINS, 0);
      for (int i = 0; i < n; ++i) {
        data[i] = skewed ? (i % 10 == 0 ? 255 : 7) : static_cast<unsigned char>(i * 7919 >> 3);
        ++want[data[i]];
      }
      const tutorial::DeviceBuffer<unsigned char> in(data);
      const auto check = [&](auto launch) {
        CHECK(run_kernel<unsigned int>(BINS, [&](unsigned int* histo) {
                CUDA_CHECK(cudaMemset(histo, 0, BINS * sizeof(unsigned int)));
                launch(histo);
              }) == want);
      };
      check([&](unsigned int* histo) { histogram_global<<<6, 200>>>(in.data(), n, histo); });
      check([&](unsigned int* histo) { histogram_shared<<<6, 256>>>(in.data(), n, histo); });
      check([&](unsigned int* histo) { histogram_aggregated<<<3, 64>>>(in.data(), n, histo); });
      check([&](unsigned int* histo) {
        const int blocks = 5;
        tutorial::DeviceBuffer<unsigned int> partial((blocks + 1) * BINS);
        histogram_per_warp<<<blocks, 32 * WARPS>>>(reinterpret_cast<const uchar4*>(in.data()),
                                                   n / 4, partial.data());
        // The last bytes, fewer than four, are a partial histogram of their own.
        CUDA_CHECK(cudaMemset(partial.data() + blocks * BINS, 0, BINS * sizeof(unsigned int)));
        histogram_global<<<1, 32>>>(in.data() + n / 4 * 4, n % 4, partial.data() + blocks * BINS);
        merge_histograms<<<BINS, 64>>>(partial.data(), blocks + 1, histo);
        CUDA_CHECK_LAUNCH();
      });
    }
}
