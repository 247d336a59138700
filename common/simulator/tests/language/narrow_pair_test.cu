// half2 and its kin: what is done for both, and how a pair is made and taken apart; shuffles and
// atomics of 16 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <catch2/catch_template_test_macros.hpp>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

__global__ void with_halves(float* out) {
  const half2 a = __floats2half2_rn(1.5f, -2.0f),
              b = make_half2(__float2half(4.0f), __float2half(0.5f));
  const half2 results[] = {
      __hadd2(a, b),
      a * b,
      __hfma2(a, b, __float2half2_rn(1.0f)),
      __hneg2(a),
      __habs2(a),
      __hmax2(a, b),
      __lowhigh2highlow(a),
      __lows2half2(a, b),
      __highs2half2(a, b),
      __half2half2(b.y),
      __low2half2(a),
      __high2half2(a),
      __hgt2(a, b),
      h2sqrt(b),
      __hmul2_sat(a, b),
      __halves2half2(__low2half(b), __high2half(a)),
  };
  int n = 0;
  for (const half2 r : results) {
    out[n++] = __low2float(r);
    out[n++] = __high2float(r);
  }
  const float2 both = __half22float2(b);
  out[n++] = both.x + both.y;
  out[n++] = __hbeq2(a, a) + 2 * __hbgt2(a, b) + 4 * (a == b);
  out[n++] = __half2float(__float22half2_rn(make_float2(3.0f, 5.0f)).y);
}
constexpr int kResults = 35;

__global__ void with_bfloats(float* out) {
#ifdef HAS_SM_80
  const __nv_bfloat162 a = __floats2bfloat162_rn(1.5f, -2.0f), b = __float2bfloat162_rn(4.0f);
  const __nv_bfloat162 r = __hfma2(a, b, __hsub2(b, a));
  const float2 both = __bfloat1622float2(r);
  out[0] = both.x;
  out[1] = both.y;
  out[2] = __bfloat162float(__low2bfloat16(a)) + __high2float(a);
  out[3] = __bfloat162float(__halves2bfloat162(a.x, b.y).y);
#endif
}

/// A row of a matrix times a vector, as programs with halves do it: pairs, then a shuffle.
__global__ void dot_products(const half* matrix, const half* vector, int count, float* out) {
  const half2* const row = reinterpret_cast<const half2*>(matrix + blockIdx.x * count);
  const half2* const column = reinterpret_cast<const half2*>(vector);
  half2 sum = __float2half2_rn(0.0f);
  for (int i = static_cast<int>(threadIdx.x); i < count / 2; i += 32)
    sum = __hfma2(row[i], __ldg(column + i), sum);
  for (int distance = 16; distance > 0; distance /= 2)
    sum = __hadd2(sum, __shfl_down_sync(0xffffffff, sum, distance));
  if (threadIdx.x == 0) out[blockIdx.x] = __half2float(__hadd(sum.x, sum.y));
}

template <class T>
__global__ void exchange(float* out) {
  const T mine = static_cast<T>(static_cast<float>(threadIdx.x));
  out[3 * threadIdx.x] = static_cast<float>(__shfl_sync(0xffffffff, mine, 5));
  out[3 * threadIdx.x + 1] = static_cast<float>(__shfl_xor_sync(0xffffffff, mine, 3));
  out[3 * threadIdx.x + 2] = static_cast<float>(__shfl_up_sync(0xffffffff, mine, 1));
}

__global__ void count_up(half* one, half2* two, __nv_bfloat16* other) {
  atomicAdd(one, __float2half(1.0f));
  atomicAdd(two, __floats2half2_rn(1.0f, -2.0f));
  atomicAdd(other, __float2bfloat16(0.5f));
}

}  // namespace

TEST_CASE("16 bits: pairs", "[narrow]") {
  const auto got = run_kernel<float>(kResults, [](float* out) { with_halves<<<1, 1>>>(out); });
  const std::vector<float> want = {5.5f,    -1.5f, 6,    -1,   7,    0,    -1.5f, 2,  1.5f,
                                   2,       4,     0.5f, -2,   1.5f, 1.5f, 4,     -2, 0.5f,
                                   0.5f,    0.5f,  1.5f, 1.5f, -2,   -2,   0,     0,  2,
                                   got[27], 1,     0,    4,    -2,   4.5f, 1,     5};
  CHECK(got == want);
  CHECK(std::abs(got[27] - 0.70710678f) < 3e-4f);
}

TEST_CASE("16 bits: pairs of bfloat16", "[narrow]") {
  need_sm_80();
  CHECK(run_kernel<float>(4, [](float* out) { with_bfloats<<<1, 1>>>(out); }) ==
        std::vector<float>{8.5f, -2, -0.5f, 4});
}

TEST_CASE("16 bits: dot products of pairs", "[narrow]") {
  std::vector<half> matrix(4 * 64), vector(64);
  for (int i = 0; i < 256; ++i) matrix[i] = __float2half(static_cast<float>(i % 5 - 2));
  for (int i = 0; i < 64; ++i) vector[i] = __float2half(static_cast<float>(i % 3));
  const tutorial::DeviceBuffer<half> a(matrix), x(vector);
  const auto got = run_kernel<float>(
      4, [&](float* out) { dot_products<<<4, 32>>>(a.data(), x.data(), 64, out); });
  for (int row = 0; row < 4; ++row) {
    float want = 0;
    for (int i = 0; i < 64; ++i) want += static_cast<float>(((64 * row + i) % 5 - 2) * (i % 3));
    CHECK(got[row] == want);
  }
}

TEMPLATE_TEST_CASE("16 bits: shuffles", "[narrow]", __half, __nv_bfloat16) {
  const auto got = run_kernel<float>(96, [](float* out) { exchange<TestType><<<1, 32>>>(out); });
  for (int t = 0; t < 32; ++t) {
    CHECK(got[3 * t] == 5);
    CHECK(got[3 * t + 1] == static_cast<float>(t ^ 3));
    CHECK(got[3 * t + 2] == static_cast<float>(t > 0 ? t - 1 : 0));
  }
}

TEST_CASE("16 bits: atomics", "[narrow]") {
  tutorial::DeviceBuffer<half> one(std::vector<half>(1, __float2half(0.0f)));
  tutorial::DeviceBuffer<half2> two(std::vector<half2>(1, __float2half2_rn(0.0f)));
  tutorial::DeviceBuffer<__nv_bfloat16> other(
      std::vector<__nv_bfloat16>(1, __float2bfloat16(0.0f)));
  count_up<<<4, 32>>>(one.data(), two.data(), other.data());
  CUDA_CHECK_LAUNCH();
  CHECK(__half2float(one.to_host()[0]) == 128);
  CHECK(__low2float(two.to_host()[0]) == 128);
  CHECK(__high2float(two.to_host()[0]) == -256);
  CHECK(__bfloat162float(other.to_host()[0]) == 64);
}
