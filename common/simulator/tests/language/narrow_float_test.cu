// half and bfloat16: conversions and arithmetic, against a table of all numbers that the type has.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

using Bits = unsigned short;

template <class T>
struct Format;
template <>
struct Format<__half> {
  static constexpr int kFraction = 10, kExponent = 5;
};
template <>
struct Format<__nv_bfloat16> {
  static constexpr int kFraction = 7, kExponent = 8;
};

__host__ __device__ Bits bits_of(__half x) {
  return __half_as_ushort(x);
}
__host__ __device__ Bits bits_of(__nv_bfloat16 x) {
  return __bfloat16_as_ushort(x);
}
template <class T>
__host__ __device__ T of_bits(Bits bits);
template <>
__host__ __device__ __half of_bits<__half>(Bits bits) {
  return __ushort_as_half(bits);
}
template <>
__host__ __device__ __nv_bfloat16 of_bits<__nv_bfloat16>(Bits bits) {
  return __ushort_as_bfloat16(bits);
}
__device__ float to_float(__half x) {
  return __half2float(x);
}
__device__ float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

// ---- The reference

template <class T>
constexpr int kInfinity = ((1 << Format<T>::kExponent) - 1) << Format<T>::kFraction;

template <class T>
double value_of(Bits bits) {
  const int magnitude = bits & 0x7fff, fraction = magnitude & ((1 << Format<T>::kFraction) - 1);
  const int exponent = magnitude >> Format<T>::kFraction;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (magnitude > kInfinity<T>) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == kInfinity<T>) return sign * std::numeric_limits<double>::infinity();
  const int bias = (1 << (Format<T>::kExponent - 1)) - 1;
  const int whole = exponent > 0 ? fraction + (1 << Format<T>::kFraction) : fraction;
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - Format<T>::kFraction);
}

/// The numbers that are not negative, in order: a number's place is its bits. Behind them the one
/// that would follow in the place of infinity.
template <class T>
const std::vector<double>& numbers() {
  static const std::vector<double> all = [] {
    std::vector<double> values;
    for (int bits = 0; bits < kInfinity<T>; ++bits)
      values.push_back(value_of<T>(static_cast<Bits>(bits)));
    values.push_back(2 * values.back() - values[values.size() - 2]);
    return values;
  }();
  return all;
}

enum class To { nearest, zero, up, down };
template <class T>
Bits rounded(long double x, To to = To::nearest) {
  const std::vector<double>& all = numbers<T>();
  const bool negative = std::signbit(x);
  const long double magnitude = std::abs(x);
  if (std::isnan(x)) return 0x7fff;
  const auto above = std::upper_bound(all.begin(), all.end(), magnitude);
  size_t place = static_cast<size_t>(above - all.begin()) - 1;  // the largest that is not above it
  if (place + 1 < all.size() && all[place] != magnitude) {
    const long double below = magnitude - all[place], rest = all[place + 1] - magnitude;
    if (to == To::nearest) place += below > rest || (below == rest && place % 2 == 1);
    if (to == To::up) place += !negative;
    if (to == To::down) place += negative;
  } else if (place + 1 == all.size() && !std::isinf(x)) {
    const bool outwards = to == To::nearest || to == (negative ? To::down : To::up);
    if (!outwards) --place;
  }
  return static_cast<Bits>((negative ? 0x8000 : 0) | place);
}

/// Equal, or both NaN.
template <class T>
bool same(Bits got, Bits want) {
  const auto is_nan = [](Bits bits) { return (bits & 0x7fff) > kInfinity<T>; };
  return got == want || (is_nan(got) && is_nan(want));
}

// ---- Kernels

template <class T>
__global__ void widen(float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = to_float(of_bits<T>(static_cast<Bits>(i)));
}

__device__ void convert(float x, Bits* row, __half) {
  row[0] = bits_of(__float2half_rn(x));
  row[1] = bits_of(__float2half_rz(x));
  row[2] = bits_of(__float2half_ru(x));
  row[3] = bits_of(__float2half_rd(x));
  row[4] = bits_of(__double2half(x));
}
__device__ void convert(float x, Bits* row, __nv_bfloat16) {
  row[0] = bits_of(__float2bfloat16_rn(x));
  row[1] = bits_of(__float2bfloat16_rz(x));
  row[2] = bits_of(__float2bfloat16_ru(x));
  row[3] = bits_of(__float2bfloat16_rd(x));
  row[4] = bits_of(__double2bfloat16(x));
}
template <class T>
__global__ void convert_all(const float* in, int count, Bits* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) convert(in[i], out + 5 * i, T());
}

constexpr int kOperations = 14;
template <class T>
__global__ void calculate(const Bits* in, int count, Bits* out) {
#ifdef HAS_SM_80
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const T x = of_bits<T>(in[3 * i]), y = of_bits<T>(in[3 * i + 1]), z = of_bits<T>(in[3 * i + 2]);
  Bits* const row = out + kOperations * i;
  row[0] = bits_of(__hadd(x, y));
  row[1] = bits_of(x - y);
  row[2] = bits_of(__hmul(x, y));
  row[3] = bits_of(__hfma(x, y, z));
  row[4] = bits_of(__hmin(x, y));
  row[5] = bits_of(__hmax(x, y));
  row[6] = bits_of(__hmul_sat(x, y));
  row[7] = static_cast<Bits>(__hlt(x, y) | __hgeu(x, y) << 1 | (x == y) << 2 | (x != y) << 3 |
                             __hne(x, y) << 4 | __hisnan(x) << 5 | (x <= y) << 6);
  T sum = x;
  sum += y;
  sum *= z;
  row[8] = bits_of(sum);
  row[9] = bits_of(__hfma_relu(x, y, z));
  row[10] = bits_of(hfloor(x));
  row[11] = bits_of(hrint(x));
  row[12] = bits_of(__hmax_nan(x, y));
  row[13] = bits_of(__habs(x));
#endif
}
template <class T>
__global__ void divide(const Bits* in, int count, Bits* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const T x = of_bits<T>(in[2 * i]), y = of_bits<T>(in[2 * i + 1]);
  out[2 * i] = bits_of(x / y);
  out[2 * i + 1] = bits_of(hsqrt(x));
}

__global__ void to_integers(const Bits* in, int count, int* out) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    const __half x = of_bits<__half>(in[i]);
    const __nv_bfloat16 y = of_bits<__nv_bfloat16>(in[i]);
    int* const row = out + 6 * i;
    row[0] = __half2int_rz(x);
    row[1] = __half2int_rn(x);
    row[2] = __half2int_ru(x);
    row[3] = __half2int_rd(x);
    row[4] = __bfloat162int_rz(y);
    row[5] = static_cast<int>(__half2uint_rn(x));
  }
}
__global__ void from_integers(const int* in, int count, Bits* out) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    out[3 * i] = bits_of(__int2half_rn(in[i]));
    out[3 * i + 1] = bits_of(__int2bfloat16_rn(in[i]));
    out[3 * i + 2] = bits_of(__ll2bfloat16_rn((1ll << 62) + (1ll << 54) + in[i]));
  }
}

template <class T>
std::vector<Bits> any_bits(int count, unsigned seed) {
  const int inf = kInfinity<T>;
  const std::vector<int> special = {0,       0x8000,  1,      0x8001,       inf,
                                    inf - 1, inf + 1, 0x7fff, inf | 0x8000, (inf - 1) | 0x8000};
  std::mt19937 random(seed);
  std::vector<Bits> bits(count);
  for (Bits& b : bits)
    b = static_cast<Bits>(random() % 8 == 0 ? special[random() % special.size()] : random());
  return bits;
}

int blocks_for(int count) {
  return (count + 127) / 128;
}

}  // namespace

TEMPLATE_TEST_CASE("16 bits: to float", "[narrow]", __half, __nv_bfloat16) {
  const auto got = run_kernel<float>(65536, [](float* out) { widen<TestType><<<256, 256>>>(out); });
  int wrong = 0;
  for (int i = 0; i < 65536; ++i) {
    const double want = value_of<TestType>(static_cast<Bits>(i));
    wrong += !(got[i] == want || (std::isnan(got[i]) && std::isnan(want))) ||
             std::signbit(got[i]) != (std::isnan(want) ? std::signbit(got[i]) : i >= 0x8000);
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("16 bits: from float and double", "[narrow]", __half, __nv_bfloat16) {
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3e38f};
  std::mt19937 random(1);
  const std::vector<double>& all = numbers<TestType>();
  for (int i = 0; i < 3000; ++i) {  // numbers, what lies half way between two, and their neighbours
    const size_t place = random() % (all.size() - 1);
    const float exact = static_cast<float>(all[place]);
    const float middle = static_cast<float>(0.5 * (all[place] + all[place + 1]));
    for (float x : {exact, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)})
      values.push_back(random() % 2 ? x : -x);
  }
  for (int i = 0; i < 5000; ++i) {
    const uint32_t bits = random();
    float x;
    std::memcpy(&x, &bits, 4);
    values.push_back(x);
  }
  const tutorial::DeviceBuffer<float> in(values);
  const int count = static_cast<int>(values.size());
  const auto got = run_kernel<Bits>(5 * count, [&](Bits* out) {
    convert_all<TestType><<<blocks_for(count), 128>>>(in.data(), count, out);
  });
  const To modes[] = {To::nearest, To::zero, To::up, To::down, To::nearest};
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < 5; ++m)
      if (!same<TestType>(got[5 * i + m], rounded<TestType>(values[i], modes[m]))) {
        CAPTURE(values[i], m, got[5 * i + m], rounded<TestType>(values[i], modes[m]));
        FAIL_CHECK();
      }
}

TEMPLATE_TEST_CASE("16 bits: arithmetic and comparisons", "[narrow]", __half, __nv_bfloat16) {
  need_sm_80();
  using T = TestType;
  constexpr int count = 20000;
  std::vector<Bits> in = any_bits<T>(3 * count, 2);
  // Of the second half the exponents are near each other, and the reference's fma is exact.
  std::mt19937 random(3);
  const int one = kInfinity<T> / 2 & ~((1 << Format<T>::kFraction) - 1);
  for (int i = 3 * count / 2; i < 3 * count; ++i)
    in[i] = static_cast<Bits>((one + static_cast<int>(random() % (8 << Format<T>::kFraction)) -
                               (4 << Format<T>::kFraction)) |
                              (random() % 2 ? 0x8000 : 0));
  const tutorial::DeviceBuffer<Bits> device(in);
  const auto got = run_kernel<Bits>(kOperations * count, [&](Bits* out) {
    calculate<T><<<blocks_for(count), 128>>>(device.data(), count, out);
  });
  for (int i = 0; i < count; ++i) {
    const double x = value_of<T>(in[3 * i]), y = value_of<T>(in[3 * i + 1]),
                 z = value_of<T>(in[3 * i + 2]);
    const Bits sum = rounded<T>(x + y);
    const double clamped = std::isnan(x * y) ? 0 : std::clamp(x * y, 0.0, 1.0);
    const int flags = (x < y) | !(x < y) << 1 | (x == y) << 2 | (x != y) << 3 |
                      (x < y || x > y) << 4 | std::isnan(x) << 5 | (x <= y) << 6;
    const Bits fma = rounded<T>(static_cast<long double>(x) * y + z);
    const Bits minimum = rounded<T>(std::fmin(x, y)), maximum = rounded<T>(std::fmax(x, y));
    const bool has_nan = std::isnan(x) || std::isnan(y);
    const Bits want[kOperations] = {sum,
                                    rounded<T>(x - y),
                                    rounded<T>(x * y),
                                    fma,
                                    minimum,
                                    maximum,
                                    rounded<T>(clamped),
                                    static_cast<Bits>(flags),
                                    rounded<T>(value_of<T>(sum) * z),
                                    value_of<T>(fma) <= 0 ? Bits{0} : fma,
                                    rounded<T>(std::floor(x)),
                                    rounded<T>(std::nearbyint(x)),
                                    has_nan ? Bits{0x7fff} : maximum,
                                    rounded<T>(std::abs(x))};
    for (int o = 0; o < kOperations; ++o) {
      const Bits is = got[kOperations * i + o];
      // The sign of a zero is not looked at where x and y are zeros of both signs; nor a bfloat16's
      // fma outside of the reference's reach.
      const bool is_zero = (o == 4 || o == 5 || o == 6 || o == 9 || o == 12) && x * y == 0 &&
                           (is & 0x7fff) == 0 && (want[o] & 0x7fff) == 0;
      const bool is_far = (o == 3 || o == 9) && Format<T>::kExponent == 8 && i < count / 2;
      if (is_zero || is_far || (o == 7 ? is == want[o] : same<T>(is, want[o]))) continue;
      CAPTURE(o, x, y, z, is, want[o]);
      FAIL_CHECK();
    }
  }
}

TEMPLATE_TEST_CASE("16 bits: an fma is rounded once", "[narrow]", __half, __nv_bfloat16) {
  need_sm_80();
  using T = TestType;
  // (1 + 2^-k)·(1 + 2^-(f+1-k)) … lies half way but for a little; z decides, however small.
  const int f = Format<T>::kFraction;
  const int one = kInfinity<T> / 2 & ~((1 << f) - 1);
  const Bits x = static_cast<Bits>(one + (1 << (f - 1)));  // 1.5
  const Bits y = static_cast<Bits>(one + 1);               // 1 + 2^-f; 1.5·y is half way
  std::vector<Bits> in;
  for (const Bits z : {0, 1, 0x8001}) in.insert(in.end(), {x, y, static_cast<Bits>(z)});
  const tutorial::DeviceBuffer<Bits> device(in);
  const auto got = run_kernel<Bits>(
      3 * kOperations, [&](Bits* out) { calculate<T><<<1, 32>>>(device.data(), 3, out); });
  const Bits below = static_cast<Bits>(x + 1), above = static_cast<Bits>(x + 2);
  CHECK(got[3] == above);  // to even
  CHECK(got[kOperations + 3] == above);
  CHECK(got[2 * kOperations + 3] == below);
}

TEMPLATE_TEST_CASE("16 bits: quotients and roots", "[narrow]", __half, __nv_bfloat16) {
  using T = TestType;
  constexpr int count = 10000;
  std::mt19937 random(4);
  const int f = Format<T>::kFraction, one = kInfinity<T> / 2 & ~((1 << f) - 1);
  std::vector<Bits> in(2 * count);
  for (Bits& b : in)
    b = static_cast<Bits>(one + static_cast<int>(random() % (12u << f)) - (6 << f));
  const tutorial::DeviceBuffer<Bits> device(in);
  const auto got = run_kernel<Bits>(2 * count, [&](Bits* out) {
    divide<T><<<blocks_for(count), 128>>>(device.data(), count, out);
  });
  for (int i = 0; i < count; ++i) {
    const double x = value_of<T>(in[2 * i]), y = value_of<T>(in[2 * i + 1]);
    CAPTURE(x, y);
    if (got[2 * i] != rounded<T>(x / y)) CHECK(got[2 * i] == rounded<T>(x / y));
    if (got[2 * i + 1] != rounded<T>(std::sqrt(x)))
      CHECK(got[2 * i + 1] == rounded<T>(std::sqrt(x)));
  }
}

TEST_CASE("16 bits: to integers and from them", "[narrow]") {
  const std::vector<Bits> bits = any_bits<__half>(4000, 5);
  const tutorial::DeviceBuffer<Bits> in(bits);
  const int count = static_cast<int>(bits.size());
  const auto got =
      run_kernel<int>(6 * count, [&](int* out) { to_integers<<<1, 256>>>(in.data(), count, out); });
  const auto clamped = [](double x) {
    return static_cast<int>(std::clamp(x, -2147483648.0, 2147483647.0));
  };
  for (int i = 0; i < count; ++i) {
    const double x = value_of<__half>(bits[i]), y = value_of<__nv_bfloat16>(bits[i]);
    CAPTURE(x, y);
    if (!std::isnan(x) && !std::isinf(x)) {
      CHECK(got[6 * i] == clamped(std::trunc(x)));
      CHECK(got[6 * i + 1] == clamped(std::nearbyint(x)));
      CHECK(got[6 * i + 2] == clamped(std::ceil(x)));
      CHECK(got[6 * i + 3] == clamped(std::floor(x)));
      CHECK(got[6 * i + 5] == clamped(std::max(0.0, std::nearbyint(x))));
    }
    if (!std::isnan(y)) CHECK(got[6 * i + 4] == clamped(std::trunc(y)));
  }

  std::mt19937 random(6);
  std::vector<int> integers(2000);
  for (int& n : integers) n = static_cast<int>(random()) >> random() % 31;
  integers[0] = 0;  // the long one is half way between two then
  integers[1] = 1;
  const tutorial::DeviceBuffer<int> from(integers);
  const auto narrow =
      run_kernel<Bits>(6000, [&](Bits* out) { from_integers<<<1, 256>>>(from.data(), 2000, out); });
  for (int i = 0; i < 2000; ++i) {
    const long double wide = (1ll << 62) + (1ll << 54) + integers[i];
    CAPTURE(integers[i]);
    CHECK(narrow[3 * i] == rounded<__half>(integers[i]));
    CHECK(narrow[3 * i + 1] == rounded<__nv_bfloat16>(integers[i]));
    CHECK(narrow[3 * i + 2] == rounded<__nv_bfloat16>(wide));
  }
}
