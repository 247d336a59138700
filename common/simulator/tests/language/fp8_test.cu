// Numbers of 8 bits: all 256 of each type, and rounding to them, against a table made from their
// definition (Micikevicius et al., "FP8 Formats for Deep Learning", table 1).
#include <cuda_fp8.h>

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

using Byte = unsigned char;

template <class T>
struct Format;
template <>
struct Format<__nv_fp8_e4m3> {
  static constexpr int kFraction = 3, kBias = 7, kLargest = 0x7e;
  static constexpr __nv_fp8_interpretation_t kKind = __NV_E4M3;
  using Pair = __nv_fp8x2_e4m3;
  using Four = __nv_fp8x4_e4m3;
};
template <>
struct Format<__nv_fp8_e5m2> {
  static constexpr int kFraction = 2, kBias = 15, kLargest = 0x7b;
  static constexpr __nv_fp8_interpretation_t kKind = __NV_E5M2;
  using Pair = __nv_fp8x2_e5m2;
  using Four = __nv_fp8x4_e5m2;
};

/// Of a number that is not negative and not infinite.
template <class T>
double value_of(int bits) {
  constexpr int ONE = 1 << Format<T>::kFraction;
  const int exponent = bits / ONE, fraction = bits % ONE;
  return std::ldexp(exponent == 0 ? fraction : ONE + fraction,
                    std::max(exponent, 1) - Format<T>::kBias - Format<T>::kFraction);
}

/// The bits of |x|, rounded to nearest even: the nearest number is looked for among all.
template <class T>
int nearest(double x, bool saturates) {
  if (std::isnan(x)) return 0x7f;
  constexpr int LARGEST = Format<T>::kLargest;
  const double magnitude = std::abs(x);
  int low = 0;
  while (low < LARGEST && value_of<T>(low + 1) <= magnitude) ++low;
  // Behind the largest one a number of the same distance would follow.
  const double before = magnitude - value_of<T>(low);
  const double after =
      (low < LARGEST ? value_of<T>(low + 1) : 2 * value_of<T>(LARGEST) - value_of<T>(LARGEST - 1)) -
      magnitude;
  const int rounded = before < after || (before == after && low % 2 == 0) ? low : low + 1;
  return rounded <= LARGEST ? rounded : saturates ? LARGEST : LARGEST + 1;
}

template <class T>
__global__ void decode(float* out) {
  T value;
  value.__x = static_cast<Byte>(threadIdx.x);
  out[threadIdx.x] = static_cast<float>(value);
  typename Format<T>::Pair pair;  // the number, and the next
  pair.__x = static_cast<unsigned short>(threadIdx.x | (threadIdx.x + 1) % 256 << 8);
  const float2 two = static_cast<float2>(pair);
  out[256 + 2 * threadIdx.x] = two.x;
  out[256 + 2 * threadIdx.x + 1] = two.y;
}

template <class T>
__global__ void encode(const float* in, int count, Byte* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  constexpr auto KIND = Format<T>::kKind;
  out[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, KIND);
  out[count + i] = __nv_cvt_float_to_fp8(in[i], __NV_NOSAT, KIND);
  out[2 * count + i] = T(in[i]).__x;
  const float2 two = {in[i], in[(i + 1) % count]};
  const unsigned short pair = typename Format<T>::Pair(two).__x;
  out[3 * count + i] = static_cast<Byte>(pair);
  out[4 * count + i] = static_cast<Byte>(pair >> 8);
  const unsigned four = typename Format<T>::Four(make_float4(1, in[i], 2, in[(i + 1) % count])).__x;
  out[5 * count + i] = static_cast<Byte>(four >> 8);
  out[6 * count + i] = static_cast<Byte>(four >> 24);
}

/// All numbers, what lies between them, next to them and beyond.
template <class T>
std::vector<float> inputs() {
  std::vector<float> values = {0,
                               1e-30f,
                               1e6f,
                               3e38f,
                               std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN()};
  for (int bits = 0; bits <= Format<T>::kLargest; ++bits) {
    const auto value = static_cast<float>(value_of<T>(bits));
    const float next = bits < Format<T>::kLargest
                           ? static_cast<float>(value_of<T>(bits + 1))
                           : 2 * value - static_cast<float>(value_of<T>(bits - 1));
    const float middle = (value + next) / 2;
    for (const float x : {value, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f),
                          std::nextafter(value, 1e9f)})
      values.push_back(x);
  }
  for (const unsigned bits : random_bits(1000)) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    values.push_back(x);
    values.push_back(static_cast<float>(bits % 100000) / 128 - 390);
  }
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("all numbers of 8 bits have their values", "", __nv_fp8_e4m3, __nv_fp8_e5m2) {
  const auto got =
      run_kernel<float>(3 * 256, [](float* out) { decode<TestType><<<1, 256>>>(out); });
  for (int bits = 0; bits < 256; ++bits) {
    CAPTURE(bits);
    const int magnitude = bits & 0x7f;
    double want = value_of<TestType>(magnitude);
    if (magnitude > Format<TestType>::kLargest)
      want = magnitude == 0x7c ? std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::quiet_NaN();
    if (bits & 0x80) want = -want;
    for (const float value : {got[bits], got[256 + 2 * bits], got[256 + (2 * bits + 511) % 512]}) {
      CHECK(std::isnan(value) == std::isnan(want));
      if (!std::isnan(want)) CHECK(value == want);
      if (want == 0) CHECK(std::signbit(value) == (bits == 0x80));
    }
  }
}

TEMPLATE_TEST_CASE("a float is rounded to the nearest number of 8 bits", "", __nv_fp8_e4m3,
                   __nv_fp8_e5m2) {
  const std::vector<float> in = inputs<TestType>();
  const int count = static_cast<int>(in.size());
  const tutorial::DeviceBuffer<float> numbers(in);
  const auto got = run_kernel<Byte>(7 * count, [&](Byte* out) {
    encode<TestType><<<(count + 255) / 256, 256>>>(numbers.data(), count, out);
  });
  const auto bits_of = [](float x, bool saturates) {
    const int sign = std::signbit(x) && !std::isnan(x) ? 0x80 : 0;
    return nearest<TestType>(x, saturates) | sign;
  };
  for (int i = 0; i < count; ++i) {
    const float x = in[i], next = in[(i + 1) % count];
    CAPTURE(x, next);
    CHECK(got[i] == bits_of(x, true));
    CHECK(got[count + i] == bits_of(x, false));
    CHECK(got[2 * count + i] == bits_of(x, true));
    CHECK(got[3 * count + i] == bits_of(x, true));
    CHECK(got[4 * count + i] == bits_of(next, true));
    CHECK(got[5 * count + i] == bits_of(x, true));
    CHECK(got[6 * count + i] == bits_of(next, true));
    // On the host as in a kernel.
    CHECK(TestType(x).__x == bits_of(x, true));
  }
}
