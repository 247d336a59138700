// Products by a warpgroup of numbers of 8 bits, against plain sums; and how much of a sum the
// tensor cores keep.
#include "common/kernel/fp8.cuh"
#include "common/kernel/tma.cuh"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

using e4m3 = __nv_fp8_e4m3;
constexpr int M = 64, K = 128;

/// C (64, N) = A (64, 128) · Bᵀ, B (N, 128): all with K along the row.
template <int N, bool A_IN_REGISTERS>
__global__ void product(const __grid_constant__ CUtensorMap A_map,
                        const __grid_constant__ CUtensorMap B_map, const e4m3* A, float* C) {
  extern __shared__ unsigned char memory[];
  unsigned char* const a_tile = aligned_shared<unsigned char[1024]>(memory);
  unsigned char* const b_tile = a_tile + M * K;
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init_fence();
    barrier_arrive_expect(full, (M + N) * K);
    tma_load(a_tile, A_map, full, {0, 0});
    tma_load(b_tile, B_map, full, {0, 0});
  }
  __syncthreads();
  barrier_wait(full, 0);
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = 1e30f;  // the first product does not add
  uint32_t a[K / 32][4];
  for (int k = 0; k < K / 32; ++k)
    for (int i = 0; i < 4; ++i)
      a[k][i] = *reinterpret_cast<const uint32_t*>(A + (16 * warp + g + i % 2 * 8) * K + 32 * k +
                                                   4 * t + i / 2 * 16);
  const WgmmaOperand of_a({.start = a_tile}), of_b({.start = b_tile});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < K / 32; ++k) {
    if constexpr (A_IN_REGISTERS)
      wgmma_e4m3<N>(d, a[k], of_b + 32 * k, k > 0);
    else
      wgmma_e4m3<N>(d, of_a + 32 * k, of_b + 32 * k, k > 0);
  }
  wgmma_commit();
  wgmma_wait<0>(d);
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    C[(16 * warp + g + i % 4 / 2 * 8) * N + i / 4 * 8 + 2 * t + i % 2] = d[i];
}

template <int N, bool A_IN_REGISTERS>
std::vector<float> multiplied(const std::vector<float>& A, const std::vector<float>& B) {
  std::vector<e4m3> a(A.size()), b(B.size());
  for (size_t i = 0; i < A.size(); ++i) a[i] = e4m3(A[i]);
  for (size_t i = 0; i < B.size(); ++i) b[i] = e4m3(B[i]);
  const DeviceBuffer<e4m3> on_a(a), on_b(b);
  const auto map = [](const e4m3* X, uint64_t rows) {
    return tensor_map(X, {K, rows}, {K}, {K, static_cast<uint32_t>(rows)});
  };
  const CUtensorMap A_map = map(on_a.data(), M), B_map = map(on_b.data(), N);
  constexpr int SHARED = (M + N) * K + 1024;
  allow_shared(product<N, A_IN_REGISTERS>, SHARED);
  return run_kernel<float>(M * N, [&](float* C) {
    product<N, A_IN_REGISTERS><<<1, 128, SHARED>>>(A_map, B_map, on_a.data(), C);
  });
}

std::vector<float> whole_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<float>(static_cast<int>(random() % 17) - 8));
  return numbers;
}

template <int N, bool A_IN_REGISTERS>
void check() {
  const std::vector<float> A = whole_numbers(M * K, N), B = whole_numbers(N * K, N + 1);
  const std::vector<float> got = multiplied<N, A_IN_REGISTERS>(A, B);
  int wrong = 0;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float want = 0;
      for (int k = 0; k < K; ++k) want += A[m * K + k] * B[n * K + k];
      wrong += got[m * N + n] != want;
    }
  INFO("N " << N << ", registers " << A_IN_REGISTERS);
  CHECK(wrong == 0);
}

/// What is left of 1 + 2^-bits, where 1 is the first product of a sum and 2^-bits one of number
/// `place` along K.
float left_of(int bits, int place) {
  std::vector<float> A(M * K, 0.0f), B(8 * K, 0.0f);
  A[0] = B[0] = 1;
  A[place] = std::ldexp(1.0f, -(bits / 2));
  B[place] = std::ldexp(1.0f, -(bits - bits / 2));
  return multiplied<8, false>(A, B)[0] - 1;
}

}  // namespace

TEST_CASE("wgmma of 8 bits: several counts of columns, A in both places", "[hopper]") {
  need_sm_90a();
  check<8, false>();
  check<64, false>();
  check<136, false>();
  check<256, false>();
  check<8, true>();
  check<128, true>();
  check<256, true>();
}

// A GPU's tensor cores keep 13 bits behind the leading one of a sum of numbers of 8 bits, and cut
// the rest, within a product of 32 and from one to the next (an H100 and an H200; DeepSeek-V3
// Technical Report, section 3.3.2, says "around 14 bits"). The simulator keeps those of fp32.
TEST_CASE("wgmma of 8 bits: what is left of a small number beside a large one", "[hopper]") {
  need_sm_90a();
  for (const int place : {1, 31, 32, 127})
    for (int bits = 8; bits <= 16; ++bits) {
      CAPTURE(place, bits);
      const float kept = std::ldexp(1.0f, -bits);
      if (device_has_clock())
        CHECK(left_of(bits, place) == (bits <= 13 ? kept : 0));
      else
        CHECK(left_of(bits, place) == kept);
    }
}
