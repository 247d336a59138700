// half: 1 sign, 5 exponent and 10 fraction bits (CUDA Math API, "Half Precision Intrinsics").
#pragma once

#include "simulator/narrow_float.h"

using __half = simulator::NarrowFloat<10, 5>;
using __half2 = simulator::NarrowPair<__half>;
using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

inline __half __float2half(float x) {
  return __half(x);
}
inline __half __double2half(double x) {
  return __half(x);
}
inline __half __float2half_rn(float x) {
  return __half(x);
}
inline __half __float2half_rz(float x) {
  return __half::rounded(x, simulator::Rounding::to_zero);
}
inline __half __float2half_ru(float x) {
  return __half::rounded(x, simulator::Rounding::up);
}
inline __half __float2half_rd(float x) {
  return __half::rounded(x, simulator::Rounding::down);
}
inline float __half2float(__half x) {
  return x;
}
SIMULATOR_NARROW_INTEGERS(half, __half)
inline unsigned short __half_as_ushort(__half x) {
  return x.bits;
}
inline short __half_as_short(__half x) {
  return static_cast<short>(x.bits);
}
inline __half __ushort_as_half(unsigned short bits) {
  return __half::of_bits(bits);
}
inline __half __short_as_half(short bits) {
  return __half::of_bits(static_cast<unsigned short>(bits));
}

inline __half2 make_half2(__half x, __half y) {
  return {x, y};
}
inline __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
inline __half2 __half2half2(__half x) {
  return {x, x};
}
inline __half2 __float2half2_rn(float x) {
  return {x, x};
}
inline __half2 __floats2half2_rn(float x, float y) {
  return {x, y};
}
inline __half2 __float22half2_rn(float2 a) {
  return {a.x, a.y};
}
inline float2 __half22float2(__half2 a) {
  return {a.x, a.y};
}
inline __half __low2half(__half2 a) {
  return a.x;
}
inline __half __high2half(__half2 a) {
  return a.y;
}

__half atomicAdd(__half* address, __half value);
__half2 atomicAdd(__half2* address, __half2 value);  // each of the two by itself

#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
