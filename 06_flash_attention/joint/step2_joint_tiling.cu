// Step 1 = chapter 2's tiled product, two at once: y = (A·B)·C. A block keeps a strip of b rows of
// A, computes a b×b tile of ỹ = A·B, multiplies it by b rows of C into y, and goes on to the next
// tile. So ỹ is never written. With b >= k, a tile of y has whole rows, and nothing is computed
// twice.
//
// Cost, by the article "When to tile two matrix multiplies" (docs/06_flash_attention.md compares):
//                        FLOP                     accesses of device memory
//   one after the other  4·m·n·k                  4·m·n·k/b + m·n + m·k
//   joint                2·m·n·k·(⌈k/b⌉ + 1)      ⌈m/b⌉·(2·b·k + 2·b·k·⌈n/b⌉)
// With b = k the joint form has fewer accesses if k < 3·n. Shared memory: 2·b·k + 2·b² floats, 64
// KB for b = k = 64. 256 threads.
//
// asked for by joint_kernel    loads 4·(⌈k/b⌉·m·k + ⌈m/b⌉·(⌈k/b⌉ + 1)·k·n) bytes,
//                              stores 4·m·k bytes
// asked for by product_kernel  loads 2·(m·k·⌈n/b⌉ + m·n·⌈k/b⌉ + 2·k·n·⌈m/b⌉) bytes,
//                              stores 2·(m·n + m·k) bytes, as the mean of its two launches
//
// The kernels count what they do, where they do it, when given a Count in place of a NoCount.
#include <algorithm>
#include <string>

#include "06_flash_attention.hpp"
#include "common/data/device_buffer.hpp"

namespace tutorial::flash::joint {

static constexpr int SIDE = 16, THREADS = SIDE * SIDE;  // 16 × 16 threads
static constexpr int64_t MAX_STRIP = 128;               // columns of A that a block can keep

/// Counts nothing and costs nothing.
struct NoCount {
  __device__ void flop(int) {}
  __device__ void access() {}
  __device__ void finish() {}
};

/// Each thread counts for itself, and adds to the totals when it is done.
struct Count {
  unsigned long long* totals;  // FLOP, accesses
  unsigned long long flops = 0, accesses = 0;
  __device__ void flop(int operations) { flops += operations; }
  __device__ void access() { ++accesses; }
  __device__ void finish() {
    atomicAdd(&totals[0], flops);
    atomicAdd(&totals[1], accesses);
  }
};

/// Copies height × width elements of a rows × cols matrix, from (row0, col0), to shared memory;
/// zeros where they lie past its edges.
template <class Counter>
static __device__ void load_tile(float* tile, int height, int width, const float* matrix,
                                 int64_t row0, int64_t col0, int64_t rows, int64_t cols,
                                 Counter& count) {
  for (int e = threadIdx.x; e < height * width; e += THREADS) {
    const int64_t row = row0 + e / width, col = col0 + e % width;
    tile[e] = 0.0f;
    if (row < rows && col < cols) {
      tile[e] = matrix[row * cols + col];
      count.access();
    }
  }
}

/// sums += left·right, for the elements (ty + 16·i, tx + 16·j) of a b×b tile that this thread has.
template <int b, class Counter>
static __device__ void add_product(float (&sums)[b / SIDE][b / SIDE], const float* left,
                                   const float* right, int length, Counter& count) {
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int x = 0; x < length; ++x)
#pragma unroll
    for (int i = 0; i < b / SIDE; ++i)
#pragma unroll
      for (int j = 0; j < b / SIDE; ++j) {
        sums[i][j] += left[(ty + SIDE * i) * length + x] * right[x * b + tx + SIDE * j];
        count.flop(2);
      }
}

/// Writes the b×b tile of a rows × cols matrix that begins at (row0, col0).
template <int b, class Counter>
static __device__ void store_tile(const float (&sums)[b / SIDE][b / SIDE], float* matrix,
                                  int64_t row0, int64_t col0, int64_t rows, int64_t cols,
                                  Counter& count) {
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int i = 0; i < b / SIDE; ++i)
    for (int j = 0; j < b / SIDE; ++j) {
      const int64_t row = row0 + ty + SIDE * i, col = col0 + tx + SIDE * j;
      if (row < rows && col < cols) {
        matrix[row * cols + col] = sums[i][j];
        count.access();
      }
    }
}

/// C = A·B, M×K by K×N, a b×b tile of C a block, b columns of A and rows of B at a time.
template <int b, class Counter>
static __global__ void __launch_bounds__(THREADS)
    product_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                   int64_t M, int64_t N, int64_t K, Counter count) {
  __shared__ float A_tile[b * b], B_tile[b * b];
  const int64_t tiles = ceil_div(N, b);
  const int64_t row0 = blockIdx.x / tiles * b, col0 = blockIdx.x % tiles * b;
  float sums[b / SIDE][b / SIDE] = {};
  for (int64_t k0 = 0; k0 < K; k0 += b) {
    load_tile(A_tile, b, b, A, row0, k0, M, K, count);
    load_tile(B_tile, b, b, B, k0, col0, K, N, count);
    __syncthreads();
    add_product<b>(sums, A_tile, B_tile, b, count);
    __syncthreads();
  }
  store_tile<b>(sums, C, row0, col0, M, N, count);
  count.finish();
}

/// y = (A·B)·C, a b×b tile of y a block.
template <int b, class Counter>
static __global__ void __launch_bounds__(THREADS)
    joint_kernel(const float* __restrict__ A, const float* __restrict__ B,
                 const float* __restrict__ C, float* __restrict__ y, int64_t m, int64_t n,
                 int64_t k, Counter count) {
  const int strip = static_cast<int>(k < MAX_STRIP ? k : MAX_STRIP);
  extern __shared__ float shared[];
  float* const A_strip = shared;              // b × strip
  float* const B_tile = A_strip + b * strip;  // strip × b
  float* const C_tile = B_tile + strip * b;   // b × b
  float* const Y_tile = C_tile + b * b;       // b × b, of ỹ = A·B

  const int64_t tiles = ceil_div(k, b);
  const int64_t row0 = blockIdx.x / tiles * b, col0 = blockIdx.x % tiles * b;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  float y_sums[b / SIDE][b / SIDE] = {};
  for (int64_t n0 = 0; n0 < n; n0 += b) {
    float sums[b / SIDE][b / SIDE] = {};
    for (int64_t k0 = 0; k0 < k; k0 += strip) {
      // The strip stays, unless it is wider than its place: then it comes in pieces, every time.
      if (n0 == 0 || k > strip) load_tile(A_strip, b, strip, A, row0, k0, m, k, count);
      load_tile(B_tile, strip, b, B, k0, n0, k, n, count);
      __syncthreads();
      add_product<b>(sums, A_strip, B_tile, strip, count);
      __syncthreads();
    }
    for (int i = 0; i < b / SIDE; ++i)
      for (int j = 0; j < b / SIDE; ++j) Y_tile[(ty + SIDE * i) * b + tx + SIDE * j] = sums[i][j];
    load_tile(C_tile, b, b, C, n0, col0, n, k, count);
    __syncthreads();
    add_product<b>(y_sums, Y_tile, C_tile, b, count);
    __syncthreads();
  }
  store_tile<b>(y_sums, y, row0, col0, m, k, count);
  count.finish();
}

template <int b, class Counter>
static void launch_products(const float* A, const float* B, const float* C, float* y,
                            float* y_tilde, int64_t m, int64_t n, int64_t k, Counter count) {
  if (m == 0 || k == 0) return;
  if (n > 0) {
    const unsigned blocks = grid_blocks(ceil_div(m, b) * ceil_div(n, b));
    product_kernel<b><<<blocks, THREADS>>>(A, B, y_tilde, m, n, k, count);
    CUDA_CHECK_LAUNCH();
  }
  const unsigned blocks = grid_blocks(ceil_div(m, b) * ceil_div(k, b));
  product_kernel<b><<<blocks, THREADS>>>(y_tilde, C, y, m, k, n, count);
  CUDA_CHECK_LAUNCH();
}

template <int b, class Counter>
static void launch_joint(const float* A, const float* B, const float* C, float* y, int64_t m,
                         int64_t n, int64_t k, Counter count) {
  if (m == 0 || k == 0) return;
  const int64_t floats = 2 * b * std::min(k, MAX_STRIP) + 2 * b * b;
  const unsigned blocks = grid_blocks(ceil_div(m, b) * ceil_div(k, b));
  const auto kernel = joint_kernel<b, Counter>;
  allow_shared_memory(kernel, floats * int64_t{sizeof(float)}, "tile size", b);
  kernel<<<blocks, THREADS, floats * sizeof(float)>>>(A, B, C, y, m, n, k, count);
  CUDA_CHECK_LAUNCH();
}

/// Calls `launch` with b, one of TILES, as a compile-time constant.
template <class Launch>
static void with_tile(int b, const Launch& launch) {
  if (b == 16) return launch.template operator()<16>();
  if (b == 32) return launch.template operator()<32>();
  if (b == 64) return launch.template operator()<64>();
  throw Error("a tile of " + std::to_string(b) + " is not one of 16, 32, 64.");
}

int tile_for(int64_t k) {
  for (int b : TILES)
    if (b >= k) return b;
  return TILES[std::size(TILES) - 1];
}

void two_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                  int64_t m, int64_t n, int64_t k) {
  with_tile(tile_for(k),
            [&]<int b>() { launch_products<b>(A, B, C, y, y_tilde, m, n, k, NoCount{}); });
}

void joint_tiling(const float* A, const float* B, const float* C, float* y, float*, int64_t m,
                  int64_t n, int64_t k) {
  with_tile(tile_for(k), [&]<int b>() { launch_joint<b>(A, B, C, y, m, n, k, NoCount{}); });
}

/// Runs `launch` with a Count and returns its totals.
template <class Launch>
static Counts counted(const Launch& launch) {
  DeviceBuffer<unsigned long long> totals(std::vector<unsigned long long>{0, 0});
  launch(Count{totals.data()});
  const std::vector<unsigned long long> host = totals.to_host();
  return {static_cast<int64_t>(host[0]), static_cast<int64_t>(host[1])};
}

Counts count_two_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                          int64_t m, int64_t n, int64_t k, int b) {
  return counted([&](Count count) {
    with_tile(b, [&]<int b>() { launch_products<b>(A, B, C, y, y_tilde, m, n, k, count); });
  });
}

Counts count_joint_tiling(const float* A, const float* B, const float* C, float* y, int64_t m,
                          int64_t n, int64_t k, int b) {
  return counted([&](Count count) {
    with_tile(b, [&]<int b>() { launch_joint<b>(A, B, C, y, m, n, k, count); });
  });
}

}  // namespace tutorial::flash::joint
