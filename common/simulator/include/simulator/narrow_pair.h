// Two numbers of 16 bits side by side: half2 and its kin. Each operation is done for x and for y.
#pragma once

#include "narrow_float.h"

namespace simulator {

template <class T>
struct alignas(4) NarrowPair {
  using Self = NarrowPair;
  T x, y;

  NarrowPair() = default;
  NarrowPair(T x, T y) : x(x), y(y) {}

#define SIMULATOR_BINARY(name, scalar)           \
  friend Self name(Self a, Self b) {             \
    return {scalar(a.x, b.x), scalar(a.y, b.y)}; \
  }
  SIMULATOR_BINARY(operator+, operator+)
  SIMULATOR_BINARY(operator-, operator-)
  SIMULATOR_BINARY(operator*, operator*)
  SIMULATOR_BINARY(operator/, operator/)
  SIMULATOR_BINARY(__hadd2, __hadd)
  SIMULATOR_BINARY(__hsub2, __hsub)
  SIMULATOR_BINARY(__hmul2, __hmul)
  SIMULATOR_BINARY(__hadd2_rn, __hadd)
  SIMULATOR_BINARY(__hsub2_rn, __hsub)
  SIMULATOR_BINARY(__hmul2_rn, __hmul)
  SIMULATOR_BINARY(__h2div, __hdiv)
  SIMULATOR_BINARY(__hadd2_sat, __hadd_sat)
  SIMULATOR_BINARY(__hsub2_sat, __hsub_sat)
  SIMULATOR_BINARY(__hmul2_sat, __hmul_sat)
  SIMULATOR_BINARY(__hmin2, __hmin)
  SIMULATOR_BINARY(__hmax2, __hmax)
  SIMULATOR_BINARY(__hmin2_nan, __hmin_nan)
  SIMULATOR_BINARY(__hmax2_nan, __hmax_nan)
#undef SIMULATOR_BINARY
#define SIMULATOR_TERNARY(name, scalar)                    \
  friend Self name(Self a, Self b, Self c) {               \
    return {scalar(a.x, b.x, c.x), scalar(a.y, b.y, c.y)}; \
  }
  SIMULATOR_TERNARY(__hfma2, __hfma)
  SIMULATOR_TERNARY(__hfma2_sat, __hfma_sat)
  SIMULATOR_TERNARY(__hfma2_relu, __hfma_relu)
#undef SIMULATOR_TERNARY

#define SIMULATOR_UNARY(name, scalar)  \
  friend Self name(Self a) {           \
    return {scalar(a.x), scalar(a.y)}; \
  }
  SIMULATOR_UNARY(operator+, operator+)
  SIMULATOR_UNARY(operator-, __hneg)
  SIMULATOR_UNARY(__hneg2, __hneg)
  SIMULATOR_UNARY(__habs2, __habs)
  SIMULATOR_UNARY(h2sqrt, hsqrt)
  SIMULATOR_UNARY(h2rsqrt, hrsqrt)
  SIMULATOR_UNARY(h2rcp, hrcp)
  SIMULATOR_UNARY(h2exp, hexp)
  SIMULATOR_UNARY(h2exp2, hexp2)
  SIMULATOR_UNARY(h2exp10, hexp10)
  SIMULATOR_UNARY(h2log, hlog)
  SIMULATOR_UNARY(h2log2, hlog2)
  SIMULATOR_UNARY(h2log10, hlog10)
  SIMULATOR_UNARY(h2sin, hsin)
  SIMULATOR_UNARY(h2cos, hcos)
  SIMULATOR_UNARY(h2tanh, htanh)
  SIMULATOR_UNARY(h2floor, hfloor)
  SIMULATOR_UNARY(h2ceil, hceil)
  SIMULATOR_UNARY(h2trunc, htrunc)
  SIMULATOR_UNARY(h2rint, hrint)
#undef SIMULATOR_UNARY

  // __heq2 gives 1 or 0 for each, __hbeq2 whether it holds for both.
#define SIMULATOR_COMPARISON(name)                                           \
  friend Self __h##name##2(Self a, Self b) {                                 \
    return {T(__h##name(a.x, b.x) ? 1 : 0), T(__h##name(a.y, b.y) ? 1 : 0)}; \
  }                                                                          \
  friend bool __hb##name##2(Self a, Self b) {                                \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                       \
  }
  SIMULATOR_COMPARISON(eq)
  SIMULATOR_COMPARISON(ne)
  SIMULATOR_COMPARISON(lt)
  SIMULATOR_COMPARISON(le)
  SIMULATOR_COMPARISON(gt)
  SIMULATOR_COMPARISON(ge)
  SIMULATOR_COMPARISON(equ)
  SIMULATOR_COMPARISON(neu)
  SIMULATOR_COMPARISON(ltu)
  SIMULATOR_COMPARISON(leu)
  SIMULATOR_COMPARISON(gtu)
  SIMULATOR_COMPARISON(geu)
#undef SIMULATOR_COMPARISON
  friend Self __hisnan2(Self a) {
    return {T(a.x.is_nan() ? 1 : 0), T(a.y.is_nan() ? 1 : 0)};
  }
  friend bool operator==(Self a, Self b) {
    return __hbeq2(a, b);
  }
  friend bool operator!=(Self a, Self b) {
    return __hbneu2(a, b);
  }
  friend bool operator<(Self a, Self b) {
    return __hblt2(a, b);
  }
  friend bool operator<=(Self a, Self b) {
    return __hble2(a, b);
  }
  friend bool operator>(Self a, Self b) {
    return __hbgt2(a, b);
  }
  friend bool operator>=(Self a, Self b) {
    return __hbge2(a, b);
  }
  Self& operator+=(Self b) {
    return *this = *this + b;
  }
  Self& operator-=(Self b) {
    return *this = *this - b;
  }
  Self& operator*=(Self b) {
    return *this = *this * b;
  }
  Self& operator/=(Self b) {
    return *this = *this / b;
  }

  // "low" is x, "high" is y.
  friend float __low2float(Self a) {
    return a.x;
  }
  friend float __high2float(Self a) {
    return a.y;
  }
  friend Self __lowhigh2highlow(Self a) {
    return {a.y, a.x};
  }
  friend Self __lows2half2(Self a, Self b) {
    return {a.x, b.x};
  }
  friend Self __highs2half2(Self a, Self b) {
    return {a.y, b.y};
  }
  friend Self __low2half2(Self a) {
    return {a.x, a.x};
  }
  friend Self __high2half2(Self a) {
    return {a.y, a.y};
  }

  static Self of_bits(unsigned bits) {
    return {T::of_bits(bits), T::of_bits(bits >> 16)};
  }
  friend unsigned both_bits(Self a) {
    return a.x.bits | static_cast<unsigned>(a.y.bits) << 16;
  }
  friend Self __shfl_sync(unsigned mask, Self value, int source, int width = 32, SIMULATOR_WHERE) {
    return of_bits(__shfl_sync(mask, both_bits(value), source, width, where));
  }
  friend Self __shfl_up_sync(unsigned mask, Self value, unsigned delta, int width = 32,
                             SIMULATOR_WHERE) {
    return of_bits(__shfl_up_sync(mask, both_bits(value), delta, width, where));
  }
  friend Self __shfl_down_sync(unsigned mask, Self value, unsigned delta, int width = 32,
                               SIMULATOR_WHERE) {
    return of_bits(__shfl_down_sync(mask, both_bits(value), delta, width, where));
  }
  friend Self __shfl_xor_sync(unsigned mask, Self value, int lane_mask, int width = 32,
                              SIMULATOR_WHERE) {
    return of_bits(__shfl_xor_sync(mask, both_bits(value), lane_mask, width, where));
  }
};

}  // namespace simulator

// The conversions of a type, whose name is part of theirs: __int2half_rn, __half2int_rz. To an
// integer as from a float.
#define SIMULATOR_NARROW_FROM_INTEGER(from, type, name, T)      \
  inline T __##from##2##name##_rn(type x) {                     \
    return T::rounded_integer(x, simulator::Rounding::nearest); \
  }                                                             \
  inline T __##from##2##name##_rz(type x) {                     \
    return T::rounded_integer(x, simulator::Rounding::to_zero); \
  }                                                             \
  inline T __##from##2##name##_ru(type x) {                     \
    return T::rounded_integer(x, simulator::Rounding::up);      \
  }                                                             \
  inline T __##from##2##name##_rd(type x) {                     \
    return T::rounded_integer(x, simulator::Rounding::down);    \
  }
#define SIMULATOR_NARROW_TO_INTEGER(to, type, name, T) \
  inline type __##name##2##to##_rn(T x) {              \
    return simulator::to_integer<type>(rintf(x));      \
  }                                                    \
  inline type __##name##2##to##_rz(T x) {              \
    return simulator::to_integer<type>(truncf(x));     \
  }                                                    \
  inline type __##name##2##to##_ru(T x) {              \
    return simulator::to_integer<type>(ceilf(x));      \
  }                                                    \
  inline type __##name##2##to##_rd(T x) {              \
    return simulator::to_integer<type>(floorf(x));     \
  }
#define SIMULATOR_NARROW_INTEGER(integer, type, name, T) \
  SIMULATOR_NARROW_FROM_INTEGER(integer, type, name, T)  \
  SIMULATOR_NARROW_TO_INTEGER(integer, type, name, T)
#define SIMULATOR_NARROW_INTEGERS(name, T)                  \
  SIMULATOR_NARROW_INTEGER(short, short, name, T)           \
  SIMULATOR_NARROW_INTEGER(ushort, unsigned short, name, T) \
  SIMULATOR_NARROW_INTEGER(int, int, name, T)               \
  SIMULATOR_NARROW_INTEGER(uint, unsigned int, name, T)     \
  SIMULATOR_NARROW_INTEGER(ll, long long, name, T)          \
  SIMULATOR_NARROW_INTEGER(ull, unsigned long long, name, T)

namespace simulator {
/// What does not fit becomes the nearest that does; NaN becomes what CUDA makes of it.
template <class I>
I to_integer(float whole) {
  constexpr I least = std::is_signed_v<I> ? static_cast<I>(I{1} << (8 * sizeof(I) - 1)) : I{0};
  constexpr I most = static_cast<I>(~least);
  if (whole != whole) return sizeof(I) == 8 ? static_cast<I>(1ull << 63) : I{0};
  if (whole <= static_cast<float>(least)) return least;
  return whole >= static_cast<float>(most) ? most : static_cast<I>(whole);
}
}  // namespace simulator
