// Arithmetic and conversions in a given rounding: __fadd_rz and its kin. (CUDA Math API, "Single
// Precision Intrinsics", "Type Casting Intrinsics".)
#include <cfenv>
#include <cmath>
#include <limits>

#include "device_functions.h"

namespace {

/// `compute()` with the processor's rounding set to `mode`. Its operands and its result are
/// volatile: else the compiler might compute before or after.
template <class Compute>
auto rounded(int mode, Compute compute) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const volatile auto result = compute();
  std::fesetround(before);
  return +result;
}

/// PTX's cvt: what does not fit becomes the nearest value that does. A NaN becomes 0 from float to
/// 32 bits, and else only the highest bit is set. (PTX ISA, "cvt".)
template <class To, class From>
To to_integer(From whole) {
  using Limits = std::numeric_limits<To>;
  const From beyond = std::ldexp(From{1}, Limits::digits);
  if (std::isnan(whole)) {
    if (sizeof(From) == 4 && sizeof(To) == 4) return 0;
    return static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1));
  }
  if (whole >= beyond) return Limits::max();
  if (whole <= static_cast<From>(Limits::lowest())) return Limits::lowest();
  return static_cast<To>(whole);
}

}  // namespace

// ---- Arithmetic

#define IN_ALL_ROUNDINGS(FUNCTION, name, type, expression) \
  FUNCTION(name##_rn, FE_TONEAREST, type, expression)      \
  FUNCTION(name##_rz, FE_TOWARDZERO, type, expression)     \
  FUNCTION(name##_ru, FE_UPWARD, type, expression)         \
  FUNCTION(name##_rd, FE_DOWNWARD, type, expression)

#define OF_ONE(name, mode, type, expression)                    \
  type name(type in_x) {                                        \
    const volatile type x = in_x;                               \
    return rounded(mode, [&]() -> type { return expression; }); \
  }
#define OF_TWO(name, mode, type, expression)                    \
  type name(type in_x, type in_y) {                             \
    const volatile type x = in_x, y = in_y;                     \
    return rounded(mode, [&]() -> type { return expression; }); \
  }
#define OF_THREE(name, mode, type, expression)                  \
  type name(type in_x, type in_y, type in_z) {                  \
    const volatile type x = in_x, y = in_y, z = in_z;           \
    return rounded(mode, [&]() -> type { return expression; }); \
  }

IN_ALL_ROUNDINGS(OF_TWO, __fadd, float, x + y)
IN_ALL_ROUNDINGS(OF_TWO, __fsub, float, x - y)
IN_ALL_ROUNDINGS(OF_TWO, __fmul, float, x* y)
IN_ALL_ROUNDINGS(OF_TWO, __fdiv, float, x / y)
IN_ALL_ROUNDINGS(OF_THREE, __fmaf, float, std::fmaf(x, y, z))
IN_ALL_ROUNDINGS(OF_ONE, __frcp, float, 1.0f / x)
IN_ALL_ROUNDINGS(OF_ONE, __fsqrt, float, std::sqrt(float{x}))
IN_ALL_ROUNDINGS(OF_TWO, __dadd, double, x + y)
IN_ALL_ROUNDINGS(OF_TWO, __dsub, double, x - y)
IN_ALL_ROUNDINGS(OF_TWO, __dmul, double, x* y)
IN_ALL_ROUNDINGS(OF_TWO, __ddiv, double, x / y)
IN_ALL_ROUNDINGS(OF_THREE, __fma, double, std::fma(x, y, z))
IN_ALL_ROUNDINGS(OF_ONE, __drcp, double, 1.0 / x)
IN_ALL_ROUNDINGS(OF_ONE, __dsqrt, double, std::sqrt(double{x}))

// ---- Conversions

#define CONVERSION(name, mode, from_type, to_type)                              \
  to_type name(from_type in_x) {                                                \
    const volatile from_type x = in_x;                                          \
    return rounded(mode, [&]() -> to_type { return static_cast<to_type>(x); }); \
  }
IN_ALL_ROUNDINGS(CONVERSION, __int2float, int, float)
IN_ALL_ROUNDINGS(CONVERSION, __uint2float, unsigned int, float)
IN_ALL_ROUNDINGS(CONVERSION, __ll2float, long long, float)
IN_ALL_ROUNDINGS(CONVERSION, __ull2float, unsigned long long, float)
IN_ALL_ROUNDINGS(CONVERSION, __double2float, double, float)
IN_ALL_ROUNDINGS(CONVERSION, __ll2double, long long, double)
IN_ALL_ROUNDINGS(CONVERSION, __ull2double, unsigned long long, double)

#define TO_INTEGER(name, from_type, to_type)       \
  to_type name##_rn(from_type x) {                 \
    return to_integer<to_type>(std::nearbyint(x)); \
  }                                                \
  to_type name##_rz(from_type x) {                 \
    return to_integer<to_type>(std::trunc(x));     \
  }                                                \
  to_type name##_ru(from_type x) {                 \
    return to_integer<to_type>(std::ceil(x));      \
  }                                                \
  to_type name##_rd(from_type x) {                 \
    return to_integer<to_type>(std::floor(x));     \
  }
TO_INTEGER(__float2int, float, int)
TO_INTEGER(__float2uint, float, unsigned int)
TO_INTEGER(__float2ll, float, long long)
TO_INTEGER(__float2ull, float, unsigned long long)
TO_INTEGER(__double2int, double, int)
TO_INTEGER(__double2uint, double, unsigned int)
TO_INTEGER(__double2ll, double, long long)
TO_INTEGER(__double2ull, double, unsigned long long)

// ---- sin(πx), cos(πx): exact where they are 0, ½-steps and 1

#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 41)
double sinpi(double x) {
  const double turn = std::remainder(x, 2.0);  // in [-1, 1], exactly
  const double pi = 3.14159265358979323846;
  if (turn == std::trunc(turn)) return std::copysign(0.0, x);
  if (std::abs(turn) <= 0.25) return std::sin(pi * turn);
  if (std::abs(turn) < 0.75) return std::copysign(std::cos(pi * (std::abs(turn) - 0.5)), turn);
  return std::copysign(std::sin(pi * (1 - std::abs(turn))), turn);
}
double cospi(double x) {
  const double turn = std::abs(std::remainder(x, 2.0));
  return turn == 0.5 ? 0.0 : sinpi(0.5 - turn);
}
float sinpif(float x) {
  return static_cast<float>(sinpi(double{x}));
}
float cospif(float x) {
  return static_cast<float>(cospi(double{x}));
}
#endif
