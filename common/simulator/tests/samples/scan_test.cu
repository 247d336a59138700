// Prefix sums: Hillis and Steele's, Blelloch's, and one of warp shuffles; over many blocks too.
#include "common/simulator/tests/run_kernel.hpp"

namespace {

/// Inclusive, over one block; between two halves of shared memory by turns.
__global__ void scan_hillis_steele(const int* in, int* out, int n) {
  extern __shared__ int temp[];  // 2 n
  int thid = threadIdx.x;
  int pout = 0, pin = 1;
  if (thid < n) temp[thid] = in[thid];
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (thid < n) {
      int sum = temp[pin * n + thid];
      if (thid >= offset) sum += temp[pin * n + thid - offset];
      temp[pout * n + thid] = sum;
    }
    __syncthreads();
  }
  if (thid < n) out[thid] = temp[pout * n + thid];
}

#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)

/// Exclusive, two elements per thread: up the tree, and down again. The sum of block b goes to
/// sums[b]. Elements from n on count as 0.
__global__ void scan_blelloch(const int* in, int* out, int* sums, int n) {
  extern __shared__ int temp[];
  const unsigned int size = 2 * blockDim.x;
  const int first = blockIdx.x * size;
  int ai = threadIdx.x, bi = threadIdx.x + size / 2;
  int bank_offset_a = CONFLICT_FREE_OFFSET(ai), bank_offset_b = CONFLICT_FREE_OFFSET(bi);
  temp[ai + bank_offset_a] = first + ai < n ? in[first + ai] : 0;
  temp[bi + bank_offset_b] = first + bi < n ? in[first + bi] : 0;

  int offset = 1;
  for (unsigned int d = size >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (threadIdx.x < d) {
      int left = offset * (2 * threadIdx.x + 1) - 1, right = offset * (2 * threadIdx.x + 2) - 1;
      left += CONFLICT_FREE_OFFSET(left);
      right += CONFLICT_FREE_OFFSET(right);
      temp[right] += temp[left];
    }
    offset *= 2;
  }
  if (threadIdx.x == 0) {
    int last = size - 1 + CONFLICT_FREE_OFFSET(size - 1);
    if (sums != nullptr) sums[blockIdx.x] = temp[last];
    temp[last] = 0;
  }
  for (unsigned int d = 1; d < size; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (threadIdx.x < d) {
      int left = offset * (2 * threadIdx.x + 1) - 1, right = offset * (2 * threadIdx.x + 2) - 1;
      left += CONFLICT_FREE_OFFSET(left);
      right += CONFLICT_FREE_OFFSET(right);
      int t = temp[left];
      temp[left] = temp[right];
      temp[right] += t;
    }
  }
  __syncthreads();
  if (first + ai < n) out[first + ai] = temp[ai + bank_offset_a];
  if (first + bi < n) out[first + bi] = temp[bi + bank_offset_b];
}

__global__ void add_block_sums(int* values, const int* scanned_sums, int per_block, int n) {
  int first = blockIdx.x * per_block;
  for (int i = first + threadIdx.x; i < min(first + per_block, n); i += blockDim.x)
    values[i] += scanned_sums[blockIdx.x];
}

/// Inclusive, one element per thread: each warp by shuffles, then the warps' sums by the first
/// warp.
__global__ void scan_shuffles(const int* in, int* out, int* sums, int n) {
  __shared__ int warp_sums[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int value = i < n ? in[i] : 0;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, value, d);
    if (lane >= d) value += other;
  }
  if (lane == 31) warp_sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int sum = lane < static_cast<int>(blockDim.x >> 5) ? warp_sums[lane] : 0;
    for (int d = 1; d < 32; d <<= 1) {
      int other = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += other;
    }
    warp_sums[lane] = sum;
  }
  __syncthreads();
  if (warp > 0) value += warp_sums[warp - 1];
  if (i < n) out[i] = value;
  if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = value;
}

// ---- Host

int blocks_for(int n, int per_block) {
  return (n + per_block - 1) / per_block;
}

/// Exclusive, of any length: scans blocks, then (in the same way) the blocks' sums.
void scan_large(const int* in, int* out, int n, int threads) {
  const int per_block = 2 * threads, blocks = blocks_for(n, per_block);
  const size_t shared = (per_block + CONFLICT_FREE_OFFSET(per_block)) * sizeof(int);
  if (blocks <= 1) {
    scan_blelloch<<<1, threads, shared>>>(in, out, nullptr, n);
    CUDA_CHECK_LAUNCH();
    return;
  }
  tutorial::DeviceBuffer<int> sums(blocks), scanned(blocks);
  scan_blelloch<<<blocks, threads, shared>>>(in, out, sums.data(), n);
  CUDA_CHECK_LAUNCH();
  scan_large(sums.data(), scanned.data(), blocks, threads);
  add_block_sums<<<blocks, threads>>>(out, scanned.data(), per_block, n);
  CUDA_CHECK_LAUNCH();
}

struct Case {
  std::vector<int> in, inclusive, exclusive;
};
Case make_case(int n) {
  Case made{std::vector<int>(n), std::vector<int>(n), std::vector<int>(n)};
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    made.in[i] = i * 31 % 17 - 5;
    made.exclusive[i] = sum;
    made.inclusive[i] = sum += made.in[i];
  }
  return made;
}

}  // namespace

TEST_CASE("sample: scan of one block", "[sample]") {
  for (int n : {1, 2, 3, 32, 33, 100, 512, 1023, 1024}) {
    CAPTURE(n);
    const Case made = make_case(n);
    const tutorial::DeviceBuffer<int> in(made.in);
    CHECK(run_kernel<int>(n, [&](int* out) {
            scan_hillis_steele<<<1, n, 2 * n * sizeof(int)>>>(in.data(), out, n);
          }) == made.inclusive);
  }
}

TEST_CASE("sample: scan of any length", "[sample]") {
  for (int n : {0, 1, 2, 63, 64, 65, 1000, 4096, 20011}) {
    const Case made = make_case(n);
    const tutorial::DeviceBuffer<int> in(made.in);
    for (int threads : {1, 32, 128}) {
      if (threads == 1 && n > 1000) continue;
      CAPTURE(n, threads);
      CHECK(run_kernel<int>(n, [&](int* out) { scan_large(in.data(), out, n, threads); }) ==
            made.exclusive);
    }
  }
}

TEST_CASE("sample: scan by warp shuffles", "[sample]") {
  for (int n : {1, 31, 32, 33, 300, 5000, 20011})
    for (int threads : {32, 256}) {
      CAPTURE(n, threads);
      const Case made = make_case(n);
      const tutorial::DeviceBuffer<int> in(made.in);
      const int blocks = blocks_for(n, threads);
      tutorial::DeviceBuffer<int> sums(blocks), scanned(blocks);
      CHECK(run_kernel<int>(n, [&](int* out) {
              scan_shuffles<<<blocks, threads>>>(in.data(), out, sums.data(), n);
              scan_large(sums.data(), scanned.data(), blocks, 64);
              add_block_sums<<<blocks, threads>>>(out, scanned.data(), threads, n);
            }) == made.inclusive);
    }
}
