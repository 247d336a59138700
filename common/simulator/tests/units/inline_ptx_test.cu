// Inline PTX against plain C++: each instruction on random operands.
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

constexpr int kThreads = 64;

// ---- Integers

constexpr int kIntegers = 36;

__global__ void integers(const unsigned* in, unsigned* out) {
  const unsigned a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
  const unsigned long long ab = static_cast<unsigned long long>(a) << 32 | b;
  unsigned* to = out + kIntegers * threadIdx.x;
  unsigned long long wide;
  asm("add.s32 %0, %1, %2;" : "=r"(to[0]) : "r"(a), "r"(b));
  asm volatile("sub.u32 %0, %1, 5;" : "=r"(to[1]) : "r"(a));
  asm("mul.lo.u32 %0, %1, %2;" : "=r"(to[2]) : "r"(a), "r"(b));
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(to[3]) : "r"(a), "r"(b));
  asm("mul.hi.s32 %0, %1, %2;" : "=r"(to[4]) : "r"(a), "r"(b));
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(b));
  to[5] = static_cast<unsigned>(wide >> 16);
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(b));
  to[6] = static_cast<unsigned>(wide >> 32);
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(to[7]) : "r"(a), "r"(b), "r"(c));
  asm("div.u32 %0, %1, %2;" : "=r"(to[8]) : "r"(a), "r"(b >> 20 | 1));
  asm("rem.u32 %0, %1, %2;" : "=r"(to[9]) : "r"(a), "r"(b >> 20 | 1));
  asm("min.s32 %0, %1, %2;" : "=r"(to[10]) : "r"(a), "r"(b));
  asm("max.u32 %0, %1, %2;" : "=r"(to[11]) : "r"(a), "r"(b));
  asm("abs.s32 %0, %1;" : "=r"(to[12]) : "r"(a | 1));
  unsigned* next = to + 13;
  asm("neg.s32 %0, %1; add.s32 %0, %0, 0;" : "=r"(*next++) : "r"(a));  // one step, not three
  if (next != to + 14) return;
  asm("and.b32 %0, %1, %2;" : "=r"(to[14]) : "r"(a), "r"(b));
  asm("or.b32 %0, %1, 0x1f;" : "=r"(to[15]) : "r"(a));
  asm("xor.b32 %0, %1, %2;" : "=r"(to[16]) : "r"(a), "r"(b));
  asm("not.b32 %0, %1;" : "=r"(to[17]) : "r"(a));
  asm("shl.b32 %0, %1, %2;" : "=r"(to[18]) : "r"(a), "r"(c % 40));
  asm("shr.u32 %0, %1, %2;" : "=r"(to[19]) : "r"(a), "r"(c % 40));
  asm("shr.s32 %0, %1, %2;" : "=r"(to[20]) : "r"(a), "r"(c % 40));
  asm("popc.b32 %0, %1;" : "=r"(to[21]) : "r"(a));
  asm("clz.b32 %0, %1;" : "=r"(to[22]) : "r"(a >> c % 32));
  asm("brev.b32 %0, %1;" : "=r"(to[23]) : "r"(a));
  asm("brev.b64 %0, %1;" : "=l"(wide) : "l"(ab));
  to[24] = static_cast<unsigned>(wide);
  asm("bfind.u32 %0, %1;" : "=r"(to[25]) : "r"(c % 4 == 0 ? 0 : a >> c % 32));
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(to[26]) : "r"(a), "r"(b % 36), "r"(c % 36));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(to[27]) : "r"(a), "r"(b % 36), "r"(c % 36));
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(to[28]) : "r"(a), "r"(b), "r"(b % 36), "r"(c % 36));
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(to[29]) : "r"(a), "r"(b), "r"(c), "n"(0xea));
  asm("prmt.b32 %0, %1, %2, 0x3210;" : "=r"(to[30]) : "r"(a), "r"(b));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(to[31]) : "r"(a), "r"(b), "r"(c));
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(to[32]) : "r"(a), "r"(b), "r"(c));
  asm("cvt.u32.u64 %0, %1;" : "=r"(to[33]) : "l"(ab));
  asm("cvt.s64.s32 %0, %1;" : "=l"(wide) : "r"(a));
  to[34] = static_cast<unsigned>(wide >> 32);
  asm("mov.b32 %0, %1;" : "=f"(reinterpret_cast<float&>(to[35])) : "f"(__uint_as_float(a)));
}

/// Bit by bit, as the PTX ISA writes it.
unsigned bit_field(unsigned x, unsigned at, unsigned length, bool is_signed) {
  unsigned result = 0;
  const unsigned last = std::min(at + length - 1, 31u);
  for (unsigned i = 0; i < 32; ++i) {
    const bool inside = i < length && at + i < 32;
    const bool sign = is_signed && length > 0 && (x >> last & 1) != 0;
    result |= (inside ? x >> (at + i) & 1u : unsigned{sign}) << i;
  }
  return result;
}
unsigned inserted(unsigned from, unsigned into, unsigned at, unsigned length) {
  for (unsigned i = 0; i < length && at + i < 32; ++i)
    into = (into & ~(1u << (at + i))) | (from >> i & 1u) << (at + i);
  return into;
}
unsigned reversed(unsigned x) {
  unsigned result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (x >> i & 1u) << (31 - i);
  return result;
}

std::vector<unsigned> expected_integers(unsigned a, unsigned b, unsigned c) {
  const int sa = static_cast<int>(a), sb = static_cast<int>(b);
  const uint64_t product = uint64_t{a} * b;
  const auto signed_high = static_cast<unsigned>(int64_t{sa} * sb >> 32);
  const unsigned shift = c % 40, some = c % 4 == 0 ? 0 : a >> c % 32;
  return {a + b,
          a - 5,
          a * b,
          static_cast<unsigned>(product >> 32),
          signed_high,
          static_cast<unsigned>(product >> 16),
          signed_high,
          a * b + c,
          a / (b >> 20 | 1),
          a % (b >> 20 | 1),
          sa < sb ? a : b,
          std::max(a, b),
          sa < 0 ? 0 - (a | 1) : a | 1,
          0 - a,
          a & b,
          a | 31,
          a ^ b,
          ~a,
          shift < 32 ? a << shift : 0,
          shift < 32 ? a >> shift : 0,
          static_cast<unsigned>(sa >> std::min(shift, 31u)),
          static_cast<unsigned>(std::popcount(a)),
          static_cast<unsigned>(std::countl_zero(a >> c % 32)),
          reversed(a),
          reversed(a),
          static_cast<unsigned>(31 - std::countl_zero(some)),
          bit_field(a, b % 36, c % 36, false),
          bit_field(a, b % 36, c % 36, true),
          inserted(a, b, b % 36, c % 36),
          (a & b) | c,
          a,
          c % 32 == 0 ? b : b << c % 32 | a >> (32 - c % 32),
          c % 32 == 0 ? a : b << (32 - c % 32) | a >> c % 32,
          b,
          sa < 0 ? 0xffffffff : 0,
          a};
}

// ---- Numbers

constexpr int kFloats = 18;

__global__ void floats(const float* in, float* out) {
  const float x = in[2 * threadIdx.x], y = in[2 * threadIdx.x + 1];
  const double d = x;
  float* to = out + kFloats * threadIdx.x;
  asm("add.f32 %0, %1, %2;" : "=f"(to[0]) : "f"(x), "f"(y));
  asm("sub.rn.f32 %0, %1, %2;" : "=f"(to[1]) : "f"(x), "f"(y));
  asm("mul.ftz.f32 %0, %1, 0f40400000;" : "=f"(to[2]) : "f"(x));  // 3
  asm("fma.rn.f32 %0, %1, %2, %0;" : "+f"(to[1]) : "f"(x), "f"(y));
  asm("div.rn.f32 %0, %1, %2;" : "=f"(to[3]) : "f"(x), "f"(y));
  asm("max.f32 %0, %1, %2;" : "=f"(to[4]) : "f"(x), "f"(-y));
  asm("neg.f32 %0, %1;" : "=f"(to[5]) : "f"(x));
  asm("abs.f32 %0, %1;" : "=f"(to[6]) : "f"(-x));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(to[7]) : "f"(x));
  asm("lg2.approx.f32 %0, %1;" : "=f"(to[8]) : "f"(x));
  asm("rcp.approx.f32 %0, %1;" : "=f"(to[9]) : "f"(x));
  asm("sqrt.approx.f32 %0, %1;" : "=f"(to[10]) : "f"(x));
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(to[11]) : "f"(x));
  asm("sin.approx.f32 %0, %1;" : "=f"(to[12]) : "f"(x));
  asm("cos.approx.f32 %0, %1;" : "=f"(to[13]) : "f"(x));
  asm("cvt.rn.f32.f64 %0, %1;" : "=f"(to[14]) : "d"(d * 3));
  asm("cvt.rn.f32.s32 %0, %1;" : "=f"(to[15]) : "r"(-static_cast<int>(threadIdx.x)));
  unsigned pair;
#ifdef HAS_SM_80
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x), "f"(y));  // x into the upper half
#else
  pair = unsigned{__half_as_ushort(__float2half(x))} << 16 | __half_as_ushort(__float2half(y));
#endif
  asm("fma.rn.f16x2 %0, %0, %1, %0;" : "+r"(pair) : "r"(0x40003c00));  // 1 and, above, 2
  to[16] = __half2float(__ushort_as_half(static_cast<unsigned short>(pair >> 16)));
  asm("add.f16x2 %0, %0, %0;" : "+r"(pair));
  to[17] = __half2float(__ushort_as_half(static_cast<unsigned short>(pair)));
}

}  // namespace

TEST_CASE("inline PTX: integers and bits", "[ptx]") {
  const std::vector<unsigned> bits = random_bits(3 * kThreads);
  const DeviceBuffer<unsigned> in(bits);
  const auto out = run_kernel<unsigned>(
      kIntegers * kThreads, [&](unsigned* to) { integers<<<1, kThreads>>>(in.data(), to); });
  for (size_t t = 0; t < kThreads; ++t) {
    const auto expected = expected_integers(bits[3 * t], bits[3 * t + 1], bits[3 * t + 2]);
    for (size_t i = 0; i < kIntegers; ++i) {
      CAPTURE(t, i, bits[3 * t], bits[3 * t + 1], bits[3 * t + 2]);
      CHECK(out[kIntegers * t + i] == expected[i]);
    }
  }
}

TEST_CASE("inline PTX: numbers", "[ptx]") {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> positive(0.1f, 3.0f);
  std::vector<float> numbers(2 * kThreads);
  for (float& x : numbers) x = positive(random);
  const DeviceBuffer<float> in(numbers);
  const auto out = run_kernel<float>(kFloats * kThreads,
                                     [&](float* to) { floats<<<1, kThreads>>>(in.data(), to); });
  for (size_t t = 0; t < kThreads; ++t) {
    const float x = numbers[2 * t], y = numbers[2 * t + 1];
    const float low = static_cast<float>(__half(y)), high = static_cast<float>(__half(x));
    const float expected[kFloats] = {
        x + y,
        std::fma(x, y, x - y),
        3 * x,
        x / y,
        x,
        -x,
        x,
        std::exp2(x),
        std::log2(x),
        1 / x,
        std::sqrt(x),
        1 / std::sqrt(x),
        std::sin(x),
        std::cos(x),
        static_cast<float>(double{x} * 3),
        -static_cast<float>(t),
        static_cast<float>(__half(3 * high)),
        static_cast<float>(__half(2 * static_cast<float>(__half(2 * low))))};
    for (size_t i = 0; i < kFloats; ++i) {
      CAPTURE(t, i, x, y);
      const bool is_exact = i < 7 || i > 13;  // the others are approximations on a GPU
      const float margin = is_exact ? 0 : 4e-6f;
      CHECK(std::fabs(out[kFloats * t + i] - expected[i]) <= margin);
    }
  }
}
