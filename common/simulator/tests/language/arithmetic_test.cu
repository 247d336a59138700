// Arithmetic and conversions in each rounding, integer intrinsics, functions with a stated error.
#include <math_constants.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr int kModes = 4;  // to nearest, towards zero, up, down
#define IN_ALL_ROUNDINGS(name, ...) \
  name##_rn(__VA_ARGS__), name##_rz(__VA_ARGS__), name##_ru(__VA_ARGS__), name##_rd(__VA_ARGS__)

// ---- Rounded arithmetic of float, against a wider type

constexpr int kOperations = 7;
struct Rounded {
  float of[kOperations][kModes];
};
__global__ void rounded_floats(const float* x, const float* y, const float* z, int n,
                               Rounded* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = {{{IN_ALL_ROUNDINGS(__fadd, x[i], y[i])},
             {IN_ALL_ROUNDINGS(__fsub, x[i], y[i])},
             {IN_ALL_ROUNDINGS(__fmul, x[i], y[i])},
             {IN_ALL_ROUNDINGS(__fdiv, x[i], y[i])},
             {IN_ALL_ROUNDINGS(__fmaf, x[i], y[i], z[i])},
             {IN_ALL_ROUNDINGS(__frcp, x[i])},
             {IN_ALL_ROUNDINGS(__fsqrt, fabsf(x[i]))}}};
}

/// `value` as a float: the float on the side that `mode` names, where it is between two.
float in_mode(int mode, long double value) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nearest = static_cast<float>(value);
  if (mode == 0 || nearest == value) return nearest;
  const bool up = mode == 2 || (mode == 1 && value < 0);
  if (up) return nearest < value ? std::nextafter(nearest, inf) : nearest;
  return nearest > value ? std::nextafter(nearest, -inf) : nearest;
}

// ---- Rounded arithmetic of double: chosen cases

struct DoubleCase {
  double x, y, z;
  double add[kModes], sub[kModes], mul[kModes], div[kModes], fma[kModes];
};
const double kE = 0x1p-52;  // one unit in the last place of 1
const DoubleCase kDoubleCases[] = {
    {1,
     0x1p-60,
     0x1p-120,
     {1, 1, 1 + kE, 1},
     {1, 1 - kE / 2, 1, 1 - kE / 2},
     {0x1p-60, 0x1p-60, 0x1p-60, 0x1p-60},
     {0x1p60, 0x1p60, 0x1p60, 0x1p60},
     {0x1p-60, 0x1p-60, 0x1p-60 * (1 + kE), 0x1p-60}},
    {-1,
     0x1p-60,
     0x1p-120,
     {-1, -1 + kE / 2, -1 + kE / 2, -1},
     {-1, -1, -1, -1 - kE},
     {-0x1p-60, -0x1p-60, -0x1p-60, -0x1p-60},
     {-0x1p60, -0x1p60, -0x1p60, -0x1p60},
     {-0x1p-60, -0x1p-60 * (1 - kE / 2), -0x1p-60 * (1 - kE / 2), -0x1p-60}},
    {1 + kE,
     1 + kE,
     -1,
     {2 + 2 * kE, 2 + 2 * kE, 2 + 2 * kE, 2 + 2 * kE},
     {0, 0, 0, 0},
     {1 + 2 * kE, 1 + 2 * kE, 1 + 3 * kE, 1 + 2 * kE},
     {1, 1, 1, 1},
     // 2ε + ε²: half-way between 2ε and the next, so to the even one
     {2 * kE, 2 * kE, 2 * kE*(1 + kE), 2 * kE}},
    {1,
     3,
     0,
     {4, 4, 4, 4},
     {-2, -2, -2, -2},
     {3, 3, 3, 3},
     {0x1.5555555555555p-2, 0x1.5555555555555p-2, 0x1.5555555555556p-2, 0x1.5555555555555p-2},
     {3, 3, 3, 3}},
    {-2,
     3,
     0,
     {1, 1, 1, 1},
     {-5, -5, -5, -5},
     {-6, -6, -6, -6},
     {-0x1.5555555555555p-1, -0x1.5555555555555p-1, -0x1.5555555555555p-1, -0x1.5555555555556p-1},
     {-6, -6, -6, -6}},
};
constexpr int kCases = sizeof kDoubleCases / sizeof kDoubleCases[0];

__global__ void rounded_doubles(const DoubleCase* cases, DoubleCase* out) {
  const DoubleCase c = cases[threadIdx.x];
  out[threadIdx.x] = {c.x,
                      c.y,
                      c.z,
                      {IN_ALL_ROUNDINGS(__dadd, c.x, c.y)},
                      {IN_ALL_ROUNDINGS(__dsub, c.x, c.y)},
                      {IN_ALL_ROUNDINGS(__dmul, c.x, c.y)},
                      {IN_ALL_ROUNDINGS(__ddiv, c.x, c.y)},
                      {IN_ALL_ROUNDINGS(__fma, c.x, c.y, c.z)}};
}
__global__ void rounded_roots(double x, double* out) {
  const double got[] = {IN_ALL_ROUNDINGS(__dsqrt, x), IN_ALL_ROUNDINGS(__drcp, x + 1)};
  for (int i = 0; i < 2 * kModes; ++i) out[i] = got[i];
}

/// With a fused multiply-add the result would not be 0.
__global__ void not_contracted(float x, float* out) {
  out[0] = __fadd_rn(__fmul_rn(x, x), -(x * x));
  out[1] = __fmaf_rn(x, x, -__fmul_rn(x, x));
}

// ---- Conversions

template <class From, class To>
struct Converted {
  To to[kModes];
};
#define CONVERSION(from, to, From, To)                                                     \
  __global__ void convert_##from##_##to(const From* in, int n, Converted<From, To>* out) { \
    const int i = threadIdx.x;                                                             \
    if (i < n) out[i] = {{IN_ALL_ROUNDINGS(__##from##2##to, in[i])}};                      \
  }
CONVERSION(float, int, float, int)
CONVERSION(float, uint, float, unsigned)
CONVERSION(float, ll, float, long long)
CONVERSION(float, ull, float, unsigned long long)
CONVERSION(double, int, double, int)
CONVERSION(double, uint, double, unsigned)
CONVERSION(double, ll, double, long long)
CONVERSION(double, ull, double, unsigned long long)
CONVERSION(int, float, int, float)
CONVERSION(uint, float, unsigned, float)
CONVERSION(ll, float, long long, float)
CONVERSION(ull, float, unsigned long long, float)
CONVERSION(double, float, double, float)
CONVERSION(ll, double, long long, double)
CONVERSION(ull, double, unsigned long long, double)

template <class T>
std::vector<T> numbers() {
  if constexpr (std::is_floating_point_v<T>) {
    const T inf = std::numeric_limits<T>::infinity();
    std::vector<T> values;
    for (double v :
         {0.0,          0.25,         0.5,          0.75,         1.0,          1.5,
          2.5,          3.5,          7.9,          1e6 + 0.5,    2147483520.0, 2147483647.0,
          2147483647.5, 2147483648.0, 4294967295.5, 4294967296.0, 1e15,         0x1p62,
          0x1p63,       0x1p64,       1e30})
      for (double sign : {1.0, -1.0}) values.push_back(static_cast<T>(sign * v));
    values.insert(values.end(), {inf, -inf, std::numeric_limits<T>::quiet_NaN(),
                                 static_cast<T>(1) / 3, static_cast<T>(-0.1)});
    return values;
  } else {
    std::vector<T> values = {0, 1, 16777215, 16777216, 16777217, 16777219, 33554433, 33554435};
    for (T far : {std::numeric_limits<T>::max(), static_cast<T>(std::numeric_limits<T>::max() / 3),
                  static_cast<T>(std::numeric_limits<T>::max() - 130)})
      values.insert(values.end(), {far, static_cast<T>(far - 1), static_cast<T>(far / 2 + 1)});
    if (std::is_signed_v<T>) {
      const size_t count = values.size();
      for (size_t i = 0; i < count; ++i) values.push_back(static_cast<T>(-values[i]));
      values.push_back(std::numeric_limits<T>::lowest());
    }
    return values;
  }
}

/// To an integer: the whole number on the right side, and what does not fit becomes what does. For
/// NaN see PTX ISA, "cvt".
template <class To, class From>
To converted_to_integer(int mode, From value) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) {
    if (sizeof(From) == 4 && sizeof(To) == 4) return 0;
    return static_cast<To>(std::make_unsigned_t<To>{1} << (Limits::digits - !std::is_signed_v<To>));
  }
  const long double wide = value;
  const long double whole = mode == 0   ? std::nearbyint(wide)
                            : mode == 1 ? std::trunc(wide)
                            : mode == 2 ? std::ceil(wide)
                                        : std::floor(wide);
  if (whole >= static_cast<long double>(Limits::max())) return Limits::max();
  if (whole <= static_cast<long double>(Limits::lowest())) return Limits::lowest();
  return static_cast<To>(whole);
}
/// To double, of an integer of 64 bits.
double in_mode_double(int mode, long double value) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nearest = static_cast<double>(value);
  if (mode == 0 || nearest == value) return nearest;
  const bool up = mode == 2 || (mode == 1 && value < 0);
  if (up) return nearest < value ? std::nextafter(nearest, inf) : nearest;
  return nearest > value ? std::nextafter(nearest, -inf) : nearest;
}

template <class From, class To, class Launch>
void check_conversion(Launch launch) {
  const std::vector<From> values = numbers<From>();
  const tutorial::DeviceBuffer<From> in(values);
  const int n = static_cast<int>(values.size());
  const auto got = run_kernel<Converted<From, To>>(
      n, [&](Converted<From, To>* out) { launch(in.data(), n, out); });
  for (int i = 0; i < n; ++i)
    for (int mode = 0; mode < kModes; ++mode) {
      CAPTURE(values[i], mode, sizeof(To));
      if constexpr (std::is_integral_v<To>)
        CHECK(got[i].to[mode] == converted_to_integer<To>(mode, values[i]));
      else if constexpr (std::is_same_v<To, double>)
        CHECK(got[i].to[mode] == in_mode_double(mode, values[i]));
      else if (values[i] != values[i])
        CHECK(std::isnan(got[i].to[mode]));
      else
        CHECK(got[i].to[mode] == in_mode(mode, values[i]));
    }
}

__global__ void double_words(double x, int n, double* out) {
  out[0] = __hiloint2double(__double2hiint(x), __double2loint(x));
  out[1] = __double2loint(x);
  out[2] = __double2hiint(x);
  out[3] = __longlong_as_double(__double_as_longlong(x) ^ (1ll << 63));
  out[4] = __int2double_rn(n) + __uint2double_rn(static_cast<unsigned>(n));
  out[5] = __uint_as_float(__float_as_uint(0.5f) ^ 0x80000000u);
  out[6] = __int_as_float(__float_as_int(0.5f) + 1);
}

// ---- Integers and bits

constexpr int kIntegers = 21;
__global__ void integers(const int* xs, const int* ys, long long* out) {
  const int x = xs[threadIdx.x], y = ys[threadIdx.x];
  const unsigned ux = x, uy = y;
  const long long wide_x = x * 0x123456789ll, wide_y = y * -0x987654321ll;
  const unsigned long long uwide = static_cast<unsigned long long>(wide_x);
  const long long got[kIntegers] = {
      __mul24(x, y),
      __umul24(ux, uy),
      __mulhi(x, y),
      __umulhi(ux, uy),
      __mul64hi(wide_x, wide_y),
      static_cast<long long>(__umul64hi(uwide, static_cast<unsigned long long>(wide_y))),
      __sad(x, y, 5u),
      __usad(ux, uy, 5u),
      __hadd(x, y),
      __rhadd(x, y),
      __uhadd(ux, uy),
      __urhadd(ux, uy),
      __byte_perm(ux, uy, 0x7531),
      __byte_perm(ux, uy, 0xb8f0),
      __funnelshift_l(ux, uy, 9),
      __funnelshift_r(ux, uy, 41),
      __funnelshift_lc(ux, uy, 40),
      __funnelshift_rc(ux, uy, 32),
      static_cast<long long>(__brevll(uwide)),
      __ffsll(wide_x),
      __popcll(uwide) + 100 * __clzll(wide_x),
  };
  for (int i = 0; i < kIntegers; ++i) out[threadIdx.x * kIntegers + i] = got[i];
}

std::vector<long long> integers_on_host(int x, int y) {
  __extension__ typedef __int128 Wide;
  __extension__ typedef unsigned __int128 UnsignedWide;
  const uint32_t ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
  const int64_t wide_x = x * int64_t{0x123456789}, wide_y = y * -int64_t{0x987654321};
  const uint64_t ux64 = static_cast<uint64_t>(wide_x), uy64 = static_cast<uint64_t>(wide_y);
  const auto floor_half = [](int64_t sum) { return (sum - (sum & 1)) / 2; };
  const auto signed24 = [](uint32_t v) {
    const int64_t low = v & 0xffffff;
    return low >= 0x800000 ? low - 0x1000000 : low;
  };
  const uint64_t joined = (uint64_t{uy} << 32) + ux;
  const auto byte = [&](int i) { return static_cast<uint32_t>(joined >> 8 * i) % 256; };
  uint64_t reversed = 0;
  for (int bit = 0; bit < 64; ++bit)
    if (ux64 >> bit & 1) reversed += uint64_t{1} << (63 - bit);
  int ones = 0, leading = 64, lowest = 0;
  for (int bit = 63; bit >= 0; --bit)
    if (ux64 >> bit & 1) {
      ++ones;
      if (leading == 64) leading = 63 - bit;
      lowest = bit + 1;
    }
  return {static_cast<int32_t>(signed24(ux) * signed24(uy)),
          static_cast<uint32_t>(uint64_t{ux & 0xffffff} * (uy & 0xffffff)), int64_t{x} * y >> 32,
          static_cast<int64_t>(uint64_t{ux} * uy >> 32),
          static_cast<int64_t>(Wide{wide_x} * wide_y >> 64),
          static_cast<int64_t>(UnsignedWide{ux64} * uy64 >> 64),
          static_cast<uint32_t>(5 + std::abs(int64_t{x} - y)),
          static_cast<uint32_t>(5 + std::abs(int64_t{ux} - int64_t{uy})),
          floor_half(int64_t{x} + y), floor_half(int64_t{x} + y + 1), floor_half(int64_t{ux} + uy),
          floor_half(int64_t{ux} + uy + 1),
          byte(1) + 256 * byte(3) + 65536 * byte(5) + (byte(7) << 24),
          // of the digits 0, f, 8 and b, from the lowest, three bits count
          byte(0) + 256 * byte(7) + 65536 * byte(0) + (byte(3) << 24),
          static_cast<uint32_t>(joined >> (32 - 9)), static_cast<uint32_t>(joined >> (41 - 32)), ux,
          uy, static_cast<int64_t>(reversed), lowest, ones + 100 * leading};
}

// ---- Smallest and greatest, of mixed types

constexpr int kMixed = 12;
__global__ void mixed_min_max(int i, unsigned u, long l, unsigned long ul, long long ll,
                              unsigned long long ull, float f, double d, double* out) {
  const double got[kMixed] = {static_cast<double>(min(i, u)),
                              static_cast<double>(max(u, i)),
                              static_cast<double>(min(l, ul)),
                              static_cast<double>(max(ul, l)),
                              static_cast<double>(min(ll, ull)),
                              static_cast<double>(max(ull, ll)),
                              static_cast<double>(min(l, l + 1)),
                              static_cast<double>(max(ul, ul + 1)),
                              min(f, d),
                              max(d, f),
                              min(d, static_cast<double>(NAN)),
                              static_cast<double>(max(NAN, f))};
  for (int k = 0; k < kMixed; ++k) out[k] = got[k];
}

// ---- Functions with an error

constexpr int kFunctions = 19;
__global__ void functions(const float* in, int n, float* out) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float sine, cosine, sine_pi, cosine_pi;
  __sincosf(x, &sine, &cosine);
  sincospif(x, &sine_pi, &cosine_pi);
  const float got[kFunctions] = {__exp10f(x),
                                 __log2f(x),
                                 __log10f(x),
                                 __tanf(x),
                                 sine,
                                 cosine,
                                 fdividef(x, 3.0f),
                                 rhypotf(x, 2.0f),
                                 rcbrtf(x),
                                 norm3df(x, 2.0f, 3.0f),
                                 normcdff(x),
                                 sinpif(x),
                                 cospif(x),
                                 sine_pi,
                                 cosine_pi,
                                 static_cast<float>(sinpi(static_cast<double>(x))),
                                 static_cast<float>(cospi(static_cast<double>(x))),
                                 static_cast<float>(rsqrt(static_cast<double>(x))),
                                 __frsqrt_rn(x)};
  for (int f = 0; f < kFunctions; ++f) out[i * kFunctions + f] = got[f];
}

__global__ void constants(double* out) {
  const double got[] = {CUDART_PI_F,       CUDART_PIO2_F,       CUDART_LN2_F,        CUDART_L2E_F,
                        CUDART_SQRT_TWO_F, CUDART_SQRT_HALF_F,  CUDART_PI,           CUDART_LN2,
                        CUDART_SQRT_TWO,   CUDART_MAX_NORMAL_F, CUDART_MIN_DENORM_F, CUDART_INF_F,
                        CUDART_INF,        CUDART_ZERO_F,       CUDART_NEG_ZERO_F,   CUDART_ONE_F,
                        CUDART_NAN_F,      CUDART_NAN};
  for (int i = 0; i < 18; ++i) out[i] = got[i];
}

__global__ void half_turns(float* out) {
  const float x = threadIdx.x * 0.5f - 4.0f;
  out[2 * threadIdx.x] = sinpif(x);
  out[2 * threadIdx.x + 1] = cospif(x);
}

}  // namespace

TEST_CASE("float arithmetic in every rounding", "[arithmetic]") {
  const float values[] = {1.0f, -1.0f, 0.1f, -0.3f, 1 / 3.0f, 7.7f, -5.1234567f, 2.9999998f};
  std::vector<float> x, y, z;
  for (float a : values)
    for (float b : values)
      for (float c : values) x.push_back(a), y.push_back(b), z.push_back(c);
  // Beyond the largest number, and below the smallest normal one.
  const float extremes[][3] = {{3e38f, 3e38f, 1}, {-3e38f, 3e38f, 1}, {1e-30f, 1.5e-12f, 0}};
  for (const auto& [a, b, c] : extremes) x.push_back(a), y.push_back(b), z.push_back(c);
  const int n = static_cast<int>(x.size());
  const tutorial::DeviceBuffer<float> dx(x), dy(y), dz(z);
  const auto got = run_kernel<Rounded>(n, [&](Rounded* out) {
    rounded_floats<<<(n + 63) / 64, 64>>>(dx.data(), dy.data(), dz.data(), n, out);
  });
  for (int i = 0; i < n; ++i) {
    const long double a = x[i], b = y[i], c = z[i];
    const long double want[kOperations] = {
        a + b, a - b, a * b, a / b, a * b + c, 1 / a, std::sqrt(std::abs(a))};
    for (int op = 0; op < kOperations; ++op)
      for (int mode = 0; mode < kModes; ++mode) {
        CAPTURE(x[i], y[i], z[i], op, mode);
        CHECK(got[i].of[op][mode] == in_mode(mode, want[op]));
      }
  }
}

TEST_CASE("double arithmetic in every rounding", "[arithmetic]") {
  const tutorial::DeviceBuffer<DoubleCase> cases(
      std::vector<DoubleCase>(kDoubleCases, kDoubleCases + kCases));
  const auto got = run_kernel<DoubleCase>(
      kCases, [&](DoubleCase* out) { rounded_doubles<<<1, kCases>>>(cases.data(), out); });
  for (int i = 0; i < kCases; ++i)
    for (int mode = 0; mode < kModes; ++mode) {
      CAPTURE(i, mode);
      CHECK(got[i].add[mode] == kDoubleCases[i].add[mode]);
      CHECK(got[i].sub[mode] == kDoubleCases[i].sub[mode]);
      CHECK(got[i].mul[mode] == kDoubleCases[i].mul[mode]);
      CHECK(got[i].div[mode] == kDoubleCases[i].div[mode]);
      CHECK(got[i].fma[mode] == kDoubleCases[i].fma[mode]);
    }
  // √2 = 1.6a09e667f3bcc908…₁₆ and 1/3 = 0.5555…₁₆
  const double down = 0x1.6a09e667f3bccp0, up = 0x1.6a09e667f3bcdp0;
  const double third = 0x1.5555555555555p-2, above = 0x1.5555555555556p-2;
  CHECK(run_kernel<double>(8, [](double* out) { rounded_roots<<<1, 1>>>(2.0, out); }) ==
        std::vector<double>{up, down, up, down, third, third, above, third});
}

TEST_CASE("__fmul_rn is not contracted, __fmaf_rn is fused", "[arithmetic]") {
  const float x = 1 + 0x1p-20f;
  const auto got = run_kernel<float>(2, [&](float* out) { not_contracted<<<1, 1>>>(x, out); });
  CHECK(got == std::vector<float>{0, 0x1p-40f});
}

#define CHECK_CONVERSION(from, to, From, To)                                       \
  check_conversion<From, To>([](const From* in, int n, Converted<From, To>* out) { \
    convert_##from##_##to<<<1, 64>>>(in, n, out);                                  \
  })

TEST_CASE("conversions to integers in every rounding", "[arithmetic]") {
  CHECK_CONVERSION(float, int, float, int);
  CHECK_CONVERSION(float, uint, float, unsigned);
  CHECK_CONVERSION(float, ll, float, long long);
  CHECK_CONVERSION(float, ull, float, unsigned long long);
  CHECK_CONVERSION(double, int, double, int);
  CHECK_CONVERSION(double, uint, double, unsigned);
  CHECK_CONVERSION(double, ll, double, long long);
  CHECK_CONVERSION(double, ull, double, unsigned long long);
}

TEST_CASE("conversions from integers in every rounding", "[arithmetic]") {
  CHECK_CONVERSION(int, float, int, float);
  CHECK_CONVERSION(uint, float, unsigned, float);
  CHECK_CONVERSION(ll, float, long long, float);
  CHECK_CONVERSION(ull, float, unsigned long long, float);
  CHECK_CONVERSION(double, float, double, float);
  CHECK_CONVERSION(ll, double, long long, double);
  CHECK_CONVERSION(ull, double, unsigned long long, double);
}

TEST_CASE("the words of a double, and bits as numbers", "[arithmetic]") {
  const double x = -0x1.23456789abcdep+10;
  const auto got = run_kernel<double>(7, [&](double* out) { double_words<<<1, 1>>>(x, -2, out); });
  CHECK(got[0] == x);
  CHECK(got[1] == static_cast<int>(0x789abcde));
  CHECK(got[2] == static_cast<int>(0xc0923456u));
  CHECK(got[3] == -x);
  CHECK(got[4] == -2.0 + 4294967294.0);
  CHECK(got[5] == -0.5);
  CHECK(got[6] == 0.5 + 0x1p-24);
}

TEST_CASE("integer and bit intrinsics", "[arithmetic]") {
  const std::vector<int> some = {
      0,         1,        -1,         7,          0x123456,
      0x7fffff,  0x800000, -0x1234567, 0x7fffffff, static_cast<int>(0x80000000u),
      0x55aa80ff};
  std::vector<int> x, y;
  for (int a : some)
    for (int b : some) x.push_back(a), y.push_back(b);
  const tutorial::DeviceBuffer<int> dx(x), dy(y);
  const int n = static_cast<int>(x.size());
  const auto got = run_kernel<long long>(
      n * kIntegers, [&](long long* out) { integers<<<1, n>>>(dx.data(), dy.data(), out); });
  for (int i = 0; i < n; ++i) {
    CAPTURE(x[i], y[i]);
    CHECK(std::vector<long long>(got.begin() + i * kIntegers, got.begin() + (i + 1) * kIntegers) ==
          integers_on_host(x[i], y[i]));
  }
}

TEST_CASE("min and max of mixed types", "[arithmetic]") {
  const auto got = run_kernel<double>(kMixed, [](double* out) {
    mixed_min_max<<<1, 1>>>(-1, 5u, -1l, 5ul, -1ll, 5ull, 1.5f, 2.5, out);
  });
  const double all32 = 4294967295.0, all64 = 18446744073709551615.0;
  CHECK(got == std::vector<double>{5, all32, 5, all64, 5, all64, -1, 6, 1.5, 2.5, 2.5, 1.5});
}

TEST_CASE("functions are close to the exact ones", "[arithmetic]") {
  const double pi = 3.14159265358979323846;
  const std::vector<float> values = {0.125f, 0.5f, 0.7f, 1.0f, 1.4f, 2.25f, 3.0f};
  const tutorial::DeviceBuffer<float> in(values);
  const int n = static_cast<int>(values.size());
  const auto got = run_kernel<float>(n * kFunctions,
                                     [&](float* out) { functions<<<1, 32>>>(in.data(), n, out); });
  for (int i = 0; i < n; ++i) {
    const double x = values[i];
    const double sp = std::sin(pi * x), cp = std::cos(pi * x), root = 1 / std::sqrt(x);
    const double want[kFunctions] = {std::pow(10.0, x),
                                     std::log2(x),
                                     std::log10(x),
                                     std::tan(x),
                                     std::sin(x),
                                     std::cos(x),
                                     x / 3,
                                     1 / std::hypot(x, 2.0),
                                     1 / std::cbrt(x),
                                     std::sqrt(x * x + 13),
                                     0.5 * std::erfc(-x / std::sqrt(2.0)),
                                     sp,
                                     cp,
                                     sp,
                                     cp,
                                     sp,
                                     cp,
                                     root,
                                     root};
    for (int f = 0; f < kFunctions; ++f) {
      CAPTURE(x, f, want[f], got[i * kFunctions + f]);
      // The first six are the fast ones; of the others CUDA's largest stated error is 5 ulp.
      const double relative = f < 6 ? 1e-5 : 5 * 0x1p-23;
      CHECK(std::abs(got[i * kFunctions + f] - want[f]) <=
            relative * (f < 6 ? std::max(1.0, std::abs(want[f])) : std::abs(want[f])) + 1e-15);
    }
    CHECK(got[i * kFunctions + 18] == static_cast<float>(root));  // correctly rounded
  }
}

TEST_CASE("mathematical constants", "[arithmetic]") {
  const double pi = std::acos(-1.0), ln2 = std::log(2.0), root = std::sqrt(2.0);
  const auto single = [](double x) { return double{static_cast<float>(x)}; };
  const double inf = std::numeric_limits<double>::infinity();
  auto got = run_kernel<double>(18, [](double* out) { constants<<<1, 1>>>(out); });
  CHECK(std::isnan(got[16]));
  CHECK(std::isnan(got[17]));
  CHECK(std::signbit(got[14]));
  got.resize(16);
  CHECK(got == std::vector<double>{single(pi), single(pi / 2), single(ln2), single(1 / ln2),
                                   single(root), single(root / 2), pi, ln2, root,
                                   std::numeric_limits<float>::max(),
                                   std::numeric_limits<float>::denorm_min(), inf, inf, 0, 0, 1});
}

TEST_CASE("sinpif and cospif are exact at half turns", "[arithmetic]") {
  const auto got = run_kernel<float>(34, [](float* out) { half_turns<<<1, 17>>>(out); });
  for (int i = 0; i < 17; ++i) {
    const int quarter = i % 4;  // of a turn: i = 0 is -4 half turns
    CHECK(got[2 * i] == (quarter == 1 ? 1 : quarter == 3 ? -1 : 0));
    CHECK(got[2 * i + 1] == (quarter == 0 ? 1 : quarter == 2 ? -1 : 0));
  }
}
