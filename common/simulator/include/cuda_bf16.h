// bfloat16: 1 sign, 8 exponent and 7 fraction bits (CUDA Math API, "Bfloat16 Precision
// Intrinsics").
#pragma once

#include "simulator/narrow_float.h"

using __nv_bfloat16 = simulator::NarrowFloat<7, 8>;
using __nv_bfloat162 = simulator::NarrowPair<__nv_bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float x) {
  return __nv_bfloat16(x);
}
inline __nv_bfloat16 __double2bfloat16(double x) {
  return __nv_bfloat16(x);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return __nv_bfloat16(x);
}
inline __nv_bfloat16 __float2bfloat16_rz(float x) {
  return __nv_bfloat16::rounded(x, simulator::Rounding::to_zero);
}
inline __nv_bfloat16 __float2bfloat16_ru(float x) {
  return __nv_bfloat16::rounded(x, simulator::Rounding::up);
}
inline __nv_bfloat16 __float2bfloat16_rd(float x) {
  return __nv_bfloat16::rounded(x, simulator::Rounding::down);
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return x;
}
SIMULATOR_NARROW_INTEGERS(bfloat16, __nv_bfloat16)
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
  return x.bits;
}
inline short __bfloat16_as_short(__nv_bfloat16 x) {
  return static_cast<short>(x.bits);
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16::of_bits(bits);
}
inline __nv_bfloat16 __short_as_bfloat16(short bits) {
  return __nv_bfloat16::of_bits(static_cast<unsigned short>(bits));
}

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) {
  return {x, x};
}
inline __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {x, x};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {x, y};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) {
  return {a.x, a.y};
}
inline float2 __bfloat1622float2(__nv_bfloat162 a) {
  return {a.x, a.y};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) {
  return a.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) {
  return a.y;
}
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) {
  return {a.x, a.x};
}
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) {
  return {a.y, a.y};
}

__nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value);
__nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value);  // each by itself

#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
