// Products by a warpgroup: every layout of the operands, against plain sums.
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

constexpr int M = 64, K = 64;

/// Where element (row, column) of a tile lies whose rows are as wide as the swizzle: what is
/// further right begins below, in a tile of its own.
__host__ __device__ int place(int row, int column, int rows, Swizzle swizzle) {
  const int width = bytes_of(swizzle), in_row = width / 2;
  return column / in_row * rows * width +
         static_cast<int>(
             swizzled(static_cast<unsigned>(row * width + column % in_row * 2), swizzle));
}

/// The operand of products number 0, 1, … along K, for `lines` rows of A or columns of B.
template <Major MAJOR, Swizzle SWIZZLE>
__device__ WgmmaOperand part(const unsigned char* tile, int lines, int number) {
  constexpr int WIDTH = bytes_of(SWIZZLE);
  if (MAJOR == Major::k) {
    const WgmmaOperand start(
        {.start = tile, .leading = lines * WIDTH, .stride = 8 * WIDTH, .swizzle = SWIZZLE});
    const int column = 16 * number, in_row = WIDTH / 2;
    return start + (column / in_row * lines * WIDTH + column % in_row * 2);
  }
  // Without a swizzle the two distances change their roles.
  const bool none = SWIZZLE == Swizzle::none;
  const WgmmaOperand start({.start = tile,
                            .leading = none ? 8 * WIDTH : K * WIDTH,
                            .stride = none ? K * WIDTH : 8 * WIDTH,
                            .swizzle = SWIZZLE});
  return start + number * 16 * WIDTH;
}

/// C (64, N) = A (64, 64) · B (64, N), all row-major; with `twice`, 2·A·B.
template <int N, class T, Major A_MAJOR, Major B_MAJOR, Swizzle SWIZZLE, bool A_IN_REGISTERS>
__global__ void product(const T* A, const T* B, float* C, bool twice) {
  extern __shared__ unsigned char memory[];
  unsigned char* const tiles = aligned_shared<unsigned char[1024]>(memory);
  unsigned char* const a_tile = tiles;
  unsigned char* const b_tile = tiles + M * K * 2;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < M * K; i += 128) {
    const int m = i / K, k = i % K;
    const int at = A_MAJOR == Major::k ? place(m, k, M, SWIZZLE) : place(k, m, K, SWIZZLE);
    *reinterpret_cast<T*>(a_tile + at) = A[i];
  }
  for (int i = thread; i < K * N; i += 128) {
    const int k = i / N, n = i % N;
    const int at = B_MAJOR == Major::k ? place(n, k, N, SWIZZLE) : place(k, n, K, SWIZZLE);
    *reinterpret_cast<T*>(b_tile + at) = B[i];
  }
  fence_async_proxy();
  __syncthreads();

  const int warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
  uint32_t a[K / 16][4];
  for (int k = 0; k < K / 16; ++k)
    for (int i = 0; i < 4; ++i) {
      const int row = 16 * warp + g + i % 2 * 8, column = 16 * k + 2 * t + i / 2 * 8;
      a[k][i] = *reinterpret_cast<const uint32_t*>(A + row * K + column);
    }
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = 1e30f;  // the first product does not add
  wgmma_fence();
#pragma unroll
  for (int round = 0; round < 2; ++round) {
    if (round == 1 && !twice) break;
#pragma unroll
    for (int k = 0; k < K / 16; ++k) {
      const WgmmaOperand b = part<B_MAJOR, SWIZZLE>(b_tile, N, k);
      if constexpr (A_IN_REGISTERS)
        wgmma<N, T, B_MAJOR>(d, a[k], b, round + k > 0);
      else
        wgmma<N, T, A_MAJOR, B_MAJOR>(d, part<A_MAJOR, SWIZZLE>(a_tile, M, k), b, round + k > 0);
    }
  }
  wgmma_commit();
  wgmma_wait<0>(d);
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    C[(16 * warp + g + i % 4 / 2 * 8) * N + i / 4 * 8 + 2 * t + i % 2] = d[i];
}

template <int N, class T, Major A_MAJOR, Major B_MAJOR, Swizzle SWIZZLE, bool A_IN_REGISTERS>
void check() {
  const auto A = whole_numbers<T>(M * K, N), B = whole_numbers<T>(K * N, N + 1);
  const DeviceBuffer<T> a(A), b(B);
  constexpr int SHARED = (M * K + K * (N + 63) / 64 * 64) * 2 + 1024;
  const auto kernel = product<N, T, A_MAJOR, B_MAJOR, SWIZZLE, A_IN_REGISTERS>;
  allow_shared(kernel, SHARED);
  for (const bool twice : {false, true}) {
    const auto got = run_kernel<float>(M * N, [&](float* C) {
      product<N, T, A_MAJOR, B_MAJOR, SWIZZLE, A_IN_REGISTERS>
          <<<1, 128, SHARED>>>(a.data(), b.data(), C, twice);
    });
    int wrong = 0;
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        float want = 0;
        for (int k = 0; k < K; ++k) want += widened(A[m * K + k]) * widened(B[k * N + n]);
        wrong += got[m * N + n] != (twice ? 2 * want : want);
      }
    INFO("N " << N << ", majors " << static_cast<int>(A_MAJOR) << static_cast<int>(B_MAJOR)
              << ", swizzle " << static_cast<int>(SWIZZLE) << ", registers " << A_IN_REGISTERS);
    CHECK(wrong == 0);
  }
}

template <Swizzle SWIZZLE>
void check_majors() {
  check<64, __nv_bfloat16, Major::k, Major::k, SWIZZLE, false>();
  check<64, __nv_bfloat16, Major::k, Major::mn, SWIZZLE, false>();
  check<64, __nv_bfloat16, Major::mn, Major::k, SWIZZLE, false>();
  check<64, __nv_bfloat16, Major::mn, Major::mn, SWIZZLE, false>();
}

/// Two groups: the sums of the first are used while the second goes on.
__global__ void two_groups(const __nv_bfloat16* A, float* C) {
  extern __shared__ unsigned char memory[];
  unsigned char* const tile = aligned_shared<unsigned char[1024]>(memory);
  for (int i = static_cast<int>(threadIdx.x); i < M * K; i += 128)
    *reinterpret_cast<__nv_bfloat16*>(tile + place(i / K, i % K, M, Swizzle::bytes_128)) = A[i];
  fence_async_proxy();
  __syncthreads();
  float first[32], second[32];
  const WgmmaOperand a({.start = tile});
  wgmma_fence();
  wgmma<64, __nv_bfloat16>(first, a, a, false);
  wgmma_commit();
  wgmma<64, __nv_bfloat16>(second, a + 32, a + 32, false);
  wgmma_commit();
  wgmma_wait<1>(first);
  for (int i = 0; i < 32; ++i) C[threadIdx.x * 64 + i] = first[i];
  wgmma_wait<0>(second);
  for (int i = 0; i < 32; ++i) C[threadIdx.x * 64 + 32 + i] = second[i];
}

}  // namespace

TEST_CASE("wgmma: every major and swizzle", "[hopper]") {
  need_sm_90a();
  check_majors<Swizzle::bytes_128>();
  check_majors<Swizzle::bytes_64>();
  check_majors<Swizzle::bytes_32>();
  check_majors<Swizzle::none>();
}

TEST_CASE("wgmma: widths, types, A in registers", "[hopper]") {
  need_sm_90a();
  check<8, __half, Major::k, Major::k, Swizzle::bytes_128, false>();
  check<80, __half, Major::k, Major::mn, Swizzle::bytes_128, true>();
  check<96, __nv_bfloat16, Major::k, Major::k, Swizzle::bytes_128, true>();
  check<176, __nv_bfloat16, Major::k, Major::mn, Swizzle::bytes_128, true>();
  check<192, __nv_bfloat16, Major::k, Major::k, Swizzle::bytes_128, false>();
  check<256, __nv_bfloat16, Major::k, Major::mn, Swizzle::bytes_128, false>();
}

TEST_CASE("wgmma: groups end one after another", "[hopper]") {
  need_sm_90a();
  const auto A = whole_numbers<__nv_bfloat16>(M * K, 5);
  const DeviceBuffer<__nv_bfloat16> a(A);
  const auto got = run_kernel<float>(
      128 * 64, [&](float* C) { two_groups<<<1, 128, 8192 + 1024>>>(a.data(), C); });
  int wrong = 0;
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 64; ++i) {
      const int m = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
      const int n = i % 32 / 4 * 8 + thread % 4 * 2 + i % 2;
      float want = 0;
      for (int k = 0; k < 16; ++k)
        want += widened(A[m * K + i / 32 * 16 + k]) * widened(A[n * K + i / 32 * 16 + k]);
      wrong += got[thread * 64 + i] != want;
    }
  CHECK(wrong == 0);
}
