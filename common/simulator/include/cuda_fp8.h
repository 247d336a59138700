// Floating-point numbers of 8 bits: a sign, then 4 bits of exponent and 3 of fraction, or 5 and 2
// (CUDA Math API, "FP8 Intrinsics"; Micikevicius et al., "FP8 Formats for Deep Learning", 2022).
// e4m3 has no infinity, and its largest number is 448; e5m2 is the upper half of a __half, up to
// 57344. They are for storing: there is no arithmetic of theirs.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;

/// What becomes of a number that is too large: an infinity or NaN, or the largest one.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace simulator {
unsigned char to_fp8(double value, bool is_e4m3, bool saturates);
float from_fp8(unsigned char bits, bool is_e4m3);
}  // namespace simulator

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                 __nv_fp8_interpretation_t interpretation) {
  return simulator::to_fp8(x, interpretation == __NV_E4M3, saturation == __NV_SATFINITE);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                __nv_fp8_interpretation_t interpretation) {
  return __nv_cvt_double_to_fp8(std::isnan(x) ? NAN : x, saturation, interpretation);
}
/// x in the lower byte.
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t interpretation) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(x.x, saturation, interpretation) |
                                           __nv_cvt_float_to_fp8(x.y, saturation, interpretation)
                                               << 8);
}

namespace simulator {

template <__nv_fp8_interpretation_t KIND>
struct Fp8 {
  __nv_fp8_storage_t __x;

  Fp8() = default;
  explicit Fp8(float value) : __x(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, KIND)) {}
  explicit Fp8(double value) : __x(__nv_cvt_double_to_fp8(value, __NV_SATFINITE, KIND)) {}
  template <std::integral T>
  explicit Fp8(T value) : Fp8(static_cast<float>(value)) {}
  explicit Fp8(__half value) : Fp8(static_cast<float>(value)) {}
  explicit Fp8(__nv_bfloat16 value) : Fp8(static_cast<float>(value)) {}

  explicit operator float() const { return from_fp8(__x, KIND == __NV_E4M3); }
  explicit operator double() const { return static_cast<float>(*this); }
  explicit operator __half() const { return static_cast<float>(*this); }
  explicit operator __nv_bfloat16() const { return static_cast<float>(*this); }
  explicit operator bool() const { return (__x & 0x7f) != 0; }
};

template <__nv_fp8_interpretation_t KIND>
struct alignas(2) Fp8Pair {
  __nv_fp8x2_storage_t __x;

  Fp8Pair() = default;
  explicit Fp8Pair(float2 value) : __x(__nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, KIND)) {}
  explicit operator float2() const {
    return {from_fp8(static_cast<unsigned char>(__x), KIND == __NV_E4M3),
            from_fp8(static_cast<unsigned char>(__x >> 8), KIND == __NV_E4M3)};
  }
};

template <__nv_fp8_interpretation_t KIND>
struct alignas(4) Fp8Four {
  __nv_fp8x4_storage_t __x;

  Fp8Four() = default;
  explicit Fp8Four(float4 value)
      : __x(__nv_cvt_float2_to_fp8x2({value.x, value.y}, __NV_SATFINITE, KIND) |
            unsigned{__nv_cvt_float2_to_fp8x2({value.z, value.w}, __NV_SATFINITE, KIND)} << 16) {}
  explicit operator float4() const {
    const auto byte = [&](int i) {
      return from_fp8(static_cast<unsigned char>(__x >> 8 * i), KIND == __NV_E4M3);
    };
    return {byte(0), byte(1), byte(2), byte(3)};
  }
};

}  // namespace simulator

using __nv_fp8_e4m3 = simulator::Fp8<__NV_E4M3>;
using __nv_fp8_e5m2 = simulator::Fp8<__NV_E5M2>;
using __nv_fp8x2_e4m3 = simulator::Fp8Pair<__NV_E4M3>;
using __nv_fp8x2_e5m2 = simulator::Fp8Pair<__NV_E5M2>;
using __nv_fp8x4_e4m3 = simulator::Fp8Four<__NV_E4M3>;
using __nv_fp8x4_e5m2 = simulator::Fp8Four<__NV_E5M2>;
