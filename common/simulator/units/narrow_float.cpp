#include <algorithm>

#include "cuda_fp8.h"

namespace simulator {

namespace {

/// |value| in units of the last place of such a number, as its bits without the sign are: what is
/// too large for the exponent goes on growing.
int64_t rounded_bits(double value, int fraction, int exponent, Rounding rounding) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63;
  // value = mantissa · 2^(power - 52)
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t mantissa =
      (bits & ((uint64_t{1} << 52) - 1)) | (field > 0 ? uint64_t{1} << 52 : 0);
  const int power = std::max(field, 1) - 1023;
  const int least = 2 - (1 << (exponent - 1));  // of a normal number
  const int shift = std::min(52 - fraction + std::max(0, least - power), 60);
  uint64_t kept = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
  switch (rounding) {
    case Rounding::nearest:
      kept += rest > half || (rest == half && kept & 1);
      break;
    case Rounding::up:
      kept += rest != 0 && !negative;
      break;
    case Rounding::down:
      kept += rest != 0 && negative;
      break;
    case Rounding::to_zero:
      break;
  }
  // The leading one adds to the exponent's field; so does a carry out of the fraction.
  return (int64_t{std::max(power - least, 0)} << fraction) + static_cast<int64_t>(kept);
}

}  // namespace

uint16_t to_narrow(double value, int fraction, int exponent, Rounding rounding) {
  const bool negative = std::signbit(value);
  const unsigned sign = negative ? 0x8000 : 0;
  const unsigned infinity = ((1u << exponent) - 1) << fraction;
  if (std::isnan(value)) return 0x7fff;
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  const int64_t result = rounded_bits(value, fraction, exponent, rounding);
  if (result < infinity) return static_cast<uint16_t>(sign | static_cast<unsigned>(result));
  const bool to_infinity =
      rounding == Rounding::nearest || rounding == (negative ? Rounding::down : Rounding::up);
  return static_cast<uint16_t>(sign | (to_infinity ? infinity : infinity - 1));
}

unsigned char to_fp8(double value, bool is_e4m3, bool saturates) {
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<unsigned char>(sign | 0x7f);
  const unsigned largest = is_e4m3 ? 0x7e : 0x7b;
  const int64_t result =
      std::isinf(value) ? 0xff
                        : rounded_bits(value, is_e4m3 ? 3 : 2, is_e4m3 ? 4 : 5, Rounding::nearest);
  // Behind e4m3's largest number comes NaN, behind e5m2's infinity.
  const unsigned kept = result <= largest ? static_cast<unsigned>(result)
                        : saturates       ? largest
                                          : largest + 1;
  return static_cast<unsigned char>(sign | kept);
}

float from_fp8(unsigned char bits, bool is_e4m3) {
  if (!is_e4m3) return static_cast<float>(__half::of_bits(unsigned{bits} << 8));
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  float magnitude = NAN;
  if ((bits & 0x7f) != 0x7f)
    magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                              : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

namespace {
/// The neighbour of x, if its last bit is even, in the direction of what was lost: so the last bit
/// tells a later rounding that something was.
double to_odd(double x, double lost) {
  if (lost == 0 || std::isnan(lost) || std::bit_cast<uint64_t>(x) & 1) return x;
  return std::nextafter(x, lost > 0 ? INFINITY : -INFINITY);
}
}  // namespace

double fma_for_narrow(double x, double y, double z) {
  const double product = x * y;  // exact: at most 22 bits
  const double sum = product + z;
  const double of_z = sum - product;
  return to_odd(sum, (product - (sum - of_z)) + (z - of_z));
}

double integer_for_narrow(long long value) {
  const double rounded = static_cast<double>(value);
  if (rounded >= 0x1p63) return to_odd(rounded, -1);
  return to_odd(rounded, static_cast<double>(value - static_cast<long long>(rounded)));
}
double integer_for_narrow(unsigned long long value) {
  const double rounded = static_cast<double>(value);
  if (rounded >= 0x1p64) return to_odd(rounded, -1);
  return to_odd(rounded, static_cast<double>(static_cast<long long>(
                             value - static_cast<unsigned long long>(rounded))));
}

}  // namespace simulator
