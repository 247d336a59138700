// What CUDA C++ adds for device code: qualifiers, vector types, intrinsics.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

template <class T>
__host__ __device__ __forceinline__ T square(T value) {
  return value * value;
}
__device__ __noinline__ float through_reference(float& value) {
  return value += 1;
}

struct Complex {
  float re, im;
  __host__ __device__ Complex operator*(const Complex& other) const {
    return {re * other.re - im * other.im, re * other.im + im * other.re};
  }
};

__global__ void qualifiers(const float* __restrict__ in, float* __restrict__ out) {
  float local[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) local[i] = __ldg(&in[i]);
#pragma unroll 2
  for (int i = 0; i < 4; ++i) local[i] = square(local[i]);
  const auto twice = [&](int i) { return 2 * local[i]; };
  out[0] = twice(3);
  out[1] = through_reference(local[1]) + local[1];
  const Complex z = Complex{1, 2} * Complex{3, 4};
  out[2] = z.re;
  out[3] = z.im;
  out[4] = static_cast<float>(warpSize);
}

/// Loads and stores of 16, 8 and 4 bytes.
__global__ void vectors(const float* in, float* out) {
  const float4 a = *reinterpret_cast<const float4*>(in);
  const float4 b = __ldg(reinterpret_cast<const float4*>(in) + 1);
  *reinterpret_cast<float4*>(out) = make_float4(b.w, b.z, b.y, b.x);
  reinterpret_cast<float2*>(out)[2] = make_float2(a.x + a.y, a.z + a.w);
  const int4 bits = *reinterpret_cast<const int4*>(in);
  out[6] = __int_as_float(bits.z);
  const float3 c = make_float3(1, 2, 3);
  const int2 d = make_int2(4, 5);
  const uint3 e = make_uint3(6, 7, 8);
  out[7] = c.z + static_cast<float>(d.y) + static_cast<float>(e.x);
}

/// Hints on caching change no value.
__global__ void cached(const float4* in, float4* out) {
  __stcs(&out[0], __ldcs(&in[0]));
  __stcg(&out[1], __ldcg(&in[1]));
}

constexpr int kFast = 9;
__global__ void fast_math(const float* in, int count, float* out) {
  for (int i = 0; i < count; ++i) {
    const float x = in[i];
    float* const row = out + kFast * i;
    row[0] = __expf(x);
    row[1] = __logf(x);
    row[2] = __sinf(x);
    row[3] = __cosf(x);
    row[4] = __fdividef(1.0f, x);
    row[5] = rsqrtf(x);
    row[6] = __powf(x, 1.5f);
    row[7] = __frcp_rn(x);
    row[8] = __fmaf_rn(x, x, -1.0f);
  }
}

/// Standard functions as kernels call them.
__global__ void standard_math(float x, float* out) {
  out[0] = expf(x);
  out[1] = logf(x);
  out[2] = sqrtf(x);
  out[3] = fmaxf(x, NAN);
  out[4] = fminf(-INFINITY, x);
  out[5] = fmaf(x, x, 1.0f);
  out[6] = max(x, 7.0f) + min(x, -7.0f);
  out[7] = static_cast<float>(max(3, 5) - min(3, 5));
  out[8] = static_cast<float>(max(3u, 5u)) + static_cast<float>(min(3ll, 5ll));
  out[9] = isnan(NAN) && isinf(-INFINITY) && !isnan(x) ? 1.0f : 0.0f;
  out[10] = exp2f(3.0f) + tanhf(0.0f) + fabsf(-x) + floorf(x) + ceilf(x);
  out[11] = __saturatef(-1.0f) + __saturatef(0.25f) + __saturatef(3.0f) + __saturatef(NAN);
}

__global__ void bit_functions(const unsigned* in, int count, int* out) {
  for (int i = 0; i < count; ++i) {
    const unsigned x = in[i];
    const unsigned long long wide = (static_cast<unsigned long long>(x) << 32) | 6u;
    int* const row = out + 7 * i;
    row[0] = __popc(x);
    row[1] = __clz(static_cast<int>(x));
    row[2] = __ffs(static_cast<int>(x));
    row[3] = static_cast<int>(__brev(x));
    row[4] = __popcll(wide);
    row[5] = __clzll(static_cast<long long>(wide));
    row[6] = __float_as_int(__uint_as_float(x & 0x7f7fffffu));
  }
}

__global__ void wide_index(const unsigned char* in, int64_t at, unsigned char* out) {
  out[threadIdx.x] = in[at + threadIdx.x];
}

bool is_close(float got, double want, double relative) {
  return std::abs(got - want) <= relative * std::max(1.0, std::abs(want));
}

}  // namespace

TEST_CASE("qualifiers and C++ in device code", "[language]") {
  const tutorial::DeviceBuffer<float> in(std::vector<float>{1, 2, 3, 4});
  const auto got = run_kernel<float>(5, [&](float* out) { qualifiers<<<1, 1>>>(in.data(), out); });
  CHECK(got == std::vector<float>{32, 10, -5, 10, 32});
  CHECK(square(3) == 9);
}

TEST_CASE("vector types", "[language]") {
  STATIC_CHECK(sizeof(float2) == 8);
  STATIC_CHECK(alignof(float2) == 8);
  STATIC_CHECK(sizeof(float3) == 12);
  STATIC_CHECK(alignof(float3) == 4);
  STATIC_CHECK(sizeof(float4) == 16);
  STATIC_CHECK(alignof(float4) == 16);
  STATIC_CHECK(alignof(int4) == 16);
  STATIC_CHECK(alignof(double2) == 16);
  STATIC_CHECK(alignof(uchar4) == 4);
  std::vector<float> values(8);
  std::iota(values.begin(), values.end(), 1.0f);
  const tutorial::DeviceBuffer<float> in(values);
  CHECK(run_kernel<float>(8, [&](float* out) { vectors<<<1, 1>>>(in.data(), out); }) ==
        std::vector<float>{8, 7, 6, 5, 3, 7, 3, 14});
  CHECK(run_kernel<float>(8, [&](float* out) {
          cached<<<1, 1>>>(reinterpret_cast<const float4*>(in.data()),
                           reinterpret_cast<float4*>(out));
        }) == values);
}

TEST_CASE("fast mathematics is close to the exact functions", "[language]") {
  const std::vector<float> values = {0.01f, 0.5f, 1.0f, 1.5f, 3.0f};
  const tutorial::DeviceBuffer<float> in(values);
  const int count = static_cast<int>(values.size());
  const auto got = run_kernel<float>(
      kFast * count, [&](float* out) { fast_math<<<1, 1>>>(in.data(), count, out); });
  for (int i = 0; i < count; ++i) {
    const double x = values[i];
    const double want[kFast] = {std::exp(x),      std::log(x),      std::sin(x), std::cos(x), 1 / x,
                                1 / std::sqrt(x), std::pow(x, 1.5), 1 / x,       x * x - 1};
    for (int f = 0; f < kFast; ++f) {
      CAPTURE(x, f);
      CHECK(is_close(got[kFast * i + f], want[f], 1e-5));
    }
  }
}

TEST_CASE("standard mathematics", "[language]") {
  const float x = 2.25f;
  const auto got = run_kernel<float>(12, [&](float* out) { standard_math<<<1, 1>>>(x, out); });
  CHECK(is_close(got[0], std::exp(2.25), 1e-6));
  CHECK(is_close(got[1], std::log(2.25), 1e-6));
  CHECK(got[2] == 1.5f);
  CHECK(got[3] == x);  // the number wins over NaN
  CHECK(got[4] == -std::numeric_limits<float>::infinity());
  CHECK(got[5] == x * x + 1);
  CHECK(got[6] == 0);
  CHECK(got[7] == 2);
  CHECK(got[8] == 8);
  CHECK(got[9] == 1);
  CHECK(got[10] == 8 + 2.25f + 2 + 3);
  CHECK(got[11] == 1.25f);
}

TEST_CASE("bit functions", "[language]") {
  const std::vector<unsigned> values = {0u, 1u, 0x80000000u, 0xffffffffu, 0x00f0a000u};
  const tutorial::DeviceBuffer<unsigned> in(values);
  const int count = static_cast<int>(values.size());
  const auto got =
      run_kernel<int>(7 * count, [&](int* out) { bit_functions<<<1, 1>>>(in.data(), count, out); });
  const std::vector<int> popc = {0, 1, 1, 32, 6}, clz = {32, 31, 0, 0, 8}, ffs = {0, 1, 32, 1, 14};
  const std::vector<unsigned> brev = {0, 0x80000000u, 1, 0xffffffffu, 0x00050f00u};
  for (int i = 0; i < count; ++i) {
    CHECK(got[7 * i] == popc[i]);
    CHECK(got[7 * i + 1] == clz[i]);
    CHECK(got[7 * i + 2] == ffs[i]);
    CHECK(static_cast<unsigned>(got[7 * i + 3]) == brev[i]);
    CHECK(got[7 * i + 4] == popc[i] + 2);
    CHECK(got[7 * i + 5] == (clz[i] == 32 ? 61 : clz[i]));
    CHECK(static_cast<unsigned>(got[7 * i + 6]) == (values[i] & 0x7f7fffffu));
  }
}

TEST_CASE("indices beyond 32 bits", "[language]") {
  // 5 GB cannot be had everywhere, so the pointer is moved back by as much as the index is beyond.
  const tutorial::DeviceBuffer<unsigned char> in(std::vector<unsigned char>{7, 8, 9});
  const int64_t far = int64_t{5} << 30;
  const auto got = run_kernel<unsigned char>(
      3, [&](unsigned char* out) { wide_index<<<1, 3>>>(in.data() - far, far, out); });
  CHECK(got == std::vector<unsigned char>{7, 8, 9});
}
