// Floating-point numbers of 16 bits: what cuda_fp16.h and cuda_bf16.h have in common. Arithmetic is
// that of double, rounded to nearest once (of double's 53 bits enough are left for that), as CUDA's
// is.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <utility>

#include "device_functions.h"

namespace simulator {

enum class Rounding { nearest, to_zero, up, down };
/// The bits of a number with so many bits for its fraction and its exponent.
uint16_t to_narrow(double value, int fraction, int exponent, Rounding rounding);
/// x·y + z, so that rounding it once more gives what one rounding gives.
double fma_for_narrow(double x, double y, double z);
/// An integer, likewise.
double integer_for_narrow(long long value);
double integer_for_narrow(unsigned long long value);

template <int FRACTION, int EXPONENT>
struct NarrowFloat {
  using Self = NarrowFloat;
  unsigned short bits;

  NarrowFloat() = default;
  template <std::floating_point T>
  NarrowFloat(T value) : NarrowFloat(rounded(static_cast<double>(value))) {}
  template <std::integral T>
  NarrowFloat(T value) : NarrowFloat(rounded_integer(value)) {}
  static Self of_bits(unsigned bits) {
    Self result;
    result.bits = static_cast<unsigned short>(bits);
    return result;
  }
  static Self rounded(double value, Rounding rounding = Rounding::nearest) {
    return of_bits(to_narrow(value, FRACTION, EXPONENT, rounding));
  }
  template <std::integral T>
  static Self rounded_integer(T value, Rounding rounding = Rounding::nearest) {
    using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    return rounded(integer_for_narrow(static_cast<Wide>(value)), rounding);
  }

  operator float() const {
    if constexpr (EXPONENT == 8) {
      return std::bit_cast<float>(static_cast<unsigned>(bits) << 16);
    } else {
      // The exponent is 15 off and the float's 127: a multiplication mends it, and subnormals, too.
      const unsigned sign = static_cast<unsigned>(bits & 0x8000) << 16;
      const unsigned magnitude = static_cast<unsigned>(bits & 0x7fff) << 13;
      if (magnitude >= 0x1fu << 23) return std::bit_cast<float>(sign | magnitude | 0x7f800000);
      return std::bit_cast<float>(
          sign | std::bit_cast<unsigned>(std::bit_cast<float>(magnitude) * 0x1p112f));
    }
  }
  double wide() const { return static_cast<float>(*this); }
  bool is_nan() const { return (bits & 0x7fff) > kInfinity; }
  bool is_infinite() const { return (bits & 0x7fff) == kInfinity; }
  static constexpr unsigned kInfinity = ((1u << EXPONENT) - 1) << FRACTION;
  static Self not_a_number() { return of_bits(0x7fff); }

  friend Self operator+(Self x, Self y) { return rounded(x.wide() + y.wide()); }
  friend Self operator-(Self x, Self y) { return rounded(x.wide() - y.wide()); }
  friend Self operator*(Self x, Self y) { return rounded(x.wide() * y.wide()); }
  friend Self operator/(Self x, Self y) { return rounded(x.wide() / y.wide()); }
  friend Self operator+(Self x) { return x; }
  friend Self operator-(Self x) { return __hneg(x); }
  Self& operator+=(Self y) { return *this = *this + y; }
  Self& operator-=(Self y) { return *this = *this - y; }
  Self& operator*=(Self y) { return *this = *this * y; }
  Self& operator/=(Self y) { return *this = *this / y; }
  Self& operator++() { return *this += Self(1); }
  Self& operator--() { return *this -= Self(1); }
  Self operator++(int) { return std::exchange(*this, *this + Self(1)); }
  Self operator--(int) { return std::exchange(*this, *this - Self(1)); }
  friend bool operator==(Self x, Self y) { return x.wide() == y.wide(); }
  friend bool operator!=(Self x, Self y) { return __hneu(x, y); }
  friend bool operator<(Self x, Self y) { return x.wide() < y.wide(); }
  friend bool operator<=(Self x, Self y) { return x.wide() <= y.wide(); }
  friend bool operator>(Self x, Self y) { return x.wide() > y.wide(); }
  friend bool operator>=(Self x, Self y) { return x.wide() >= y.wide(); }

  friend Self __hadd(Self x, Self y) { return x + y; }
  friend Self __hsub(Self x, Self y) { return x - y; }
  friend Self __hmul(Self x, Self y) { return x * y; }
  friend Self __hadd_rn(Self x, Self y) { return x + y; }
  friend Self __hsub_rn(Self x, Self y) { return x - y; }
  friend Self __hmul_rn(Self x, Self y) { return x * y; }
  friend Self __hdiv(Self x, Self y) { return x / y; }
  friend Self __hfma(Self x, Self y, Self z) {
    return rounded(fma_for_narrow(x.wide(), y.wide(), z.wide()));
  }
  friend Self saturated(Self x) { return x > Self(0) ? (x < Self(1) ? x : Self(1)) : Self(0); }
  friend Self __hadd_sat(Self x, Self y) { return saturated(x + y); }
  friend Self __hsub_sat(Self x, Self y) { return saturated(x - y); }
  friend Self __hmul_sat(Self x, Self y) { return saturated(x * y); }
  friend Self __hfma_sat(Self x, Self y, Self z) { return saturated(__hfma(x, y, z)); }
  friend Self __hfma_relu(Self x, Self y, Self z) {
    const Self result = __hfma(x, y, z);
    return result <= Self(0) ? Self(0) : result;  // -0 becomes +0, as on an H200
  }
  friend Self __hneg(Self x) { return x.is_nan() ? not_a_number() : of_bits(x.bits ^ 0x8000); }
  friend Self __habs(Self x) { return x.is_nan() ? not_a_number() : of_bits(x.bits & 0x7fff); }
  // +0 is more than -0, and a number wins over NaN.
  friend bool is_less(Self x, Self y) {
    return x.wide() < y.wide() || (x.wide() == y.wide() && x.bits > y.bits);
  }
  friend Self __hmin(Self x, Self y) {
    return x.is_nan() ? (y.is_nan() ? not_a_number() : y) : is_less(y, x) ? y : x;
  }
  friend Self __hmax(Self x, Self y) {
    return x.is_nan() ? (y.is_nan() ? not_a_number() : y) : is_less(x, y) ? y : x;
  }
  friend Self __hmin_nan(Self x, Self y) {
    return x.is_nan() || y.is_nan() ? not_a_number() : __hmin(x, y);
  }
  friend Self __hmax_nan(Self x, Self y) {
    return x.is_nan() || y.is_nan() ? not_a_number() : __hmax(x, y);
  }
  friend bool __hisnan(Self x) { return x.is_nan(); }
  friend int __hisinf(Self x) { return x.is_infinite() ? (x.bits & 0x8000 ? -1 : 1) : 0; }

  // …u: true when one of the two is NaN.
#define SIMULATOR_COMPARISON(name, operation)                       \
  friend bool __h##name(Self x, Self y) {                           \
    return x.wide() operation y.wide();                             \
  }                                                                 \
  friend bool __h##name##u(Self x, Self y) {                        \
    return x.is_nan() || y.is_nan() || x.wide() operation y.wide(); \
  }
  SIMULATOR_COMPARISON(eq, ==)
  SIMULATOR_COMPARISON(lt, <)
  SIMULATOR_COMPARISON(le, <=)
  SIMULATOR_COMPARISON(gt, >)
  SIMULATOR_COMPARISON(ge, >=)
#undef SIMULATOR_COMPARISON
  friend bool __hne(Self x, Self y) {
    return x.wide() < y.wide() || x.wide() > y.wide();
  }
  friend bool __hneu(Self x, Self y) {
    return x.wide() != y.wide();
  }

#define SIMULATOR_FUNCTION(name, expression) \
  friend Self name(Self of) {                \
    const double x = of.wide();              \
    return rounded(expression);              \
  }
  SIMULATOR_FUNCTION(hsqrt, std::sqrt(x))
  SIMULATOR_FUNCTION(hrsqrt, 1 / std::sqrt(x))
  SIMULATOR_FUNCTION(hrcp, 1 / x)
  SIMULATOR_FUNCTION(hexp, std::exp(x))
  SIMULATOR_FUNCTION(hexp2, std::exp2(x))
  SIMULATOR_FUNCTION(hexp10, std::pow(10.0, x))
  SIMULATOR_FUNCTION(hlog, std::log(x))
  SIMULATOR_FUNCTION(hlog2, std::log2(x))
  SIMULATOR_FUNCTION(hlog10, std::log10(x))
  SIMULATOR_FUNCTION(hsin, std::sin(x))
  SIMULATOR_FUNCTION(hcos, std::cos(x))
  SIMULATOR_FUNCTION(htanh, std::tanh(x))
  SIMULATOR_FUNCTION(hfloor, std::floor(x))
  SIMULATOR_FUNCTION(hceil, std::ceil(x))
  SIMULATOR_FUNCTION(htrunc, std::trunc(x))
  SIMULATOR_FUNCTION(hrint, std::nearbyint(x))
#undef SIMULATOR_FUNCTION

  // A shuffle of 16 bits is one of 32.
  friend Self __shfl_sync(unsigned mask, Self value, int source, int width = 32, SIMULATOR_WHERE) {
    return of_bits(__shfl_sync(mask, unsigned{value.bits}, source, width, where));
  }
  friend Self __shfl_up_sync(unsigned mask, Self value, unsigned delta, int width = 32,
                             SIMULATOR_WHERE) {
    return of_bits(__shfl_up_sync(mask, unsigned{value.bits}, delta, width, where));
  }
  friend Self __shfl_down_sync(unsigned mask, Self value, unsigned delta, int width = 32,
                               SIMULATOR_WHERE) {
    return of_bits(__shfl_down_sync(mask, unsigned{value.bits}, delta, width, where));
  }
  friend Self __shfl_xor_sync(unsigned mask, Self value, int lane_mask, int width = 32,
                              SIMULATOR_WHERE) {
    return of_bits(__shfl_xor_sync(mask, unsigned{value.bits}, lane_mask, width, where));
  }
};

}  // namespace simulator

#include "narrow_pair.h"
