// What the translator makes of inline PTX calls these (translate/inline_ptx.cpp has the list); a
// translated file that has such an asm includes this. Inlined, so that a report names the kernel's
// line.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ptx.h"
#include "ptx_hopper.h"

namespace simulator {

// ---- Operands

/// An operand as the instruction takes it: its bits, or the number that it is where it has another
/// size (a constant).
template <class T, class From>
__forceinline__ T ptx_value(From from) {
  if constexpr (sizeof(T) == sizeof(From))
    return std::bit_cast<T>(from);
  else
    return static_cast<T>(from);
}

/// Several registers.
template <class T, int COUNT>
struct alignas(sizeof(T) * COUNT) PtxVector {
  T x[COUNT];
};

/// What an instruction gives goes into an operand: its bits, or, into a wider register, the number.
template <class From, class To>
__forceinline__ void ptx_set(From from, To& to) {
  if constexpr (sizeof(From) == sizeof(To)) {
    to = std::bit_cast<To>(from);
  } else {
    static_assert(sizeof(From) < sizeof(To) && std::is_integral_v<To>,
                  "inline PTX: this operand is smaller than what the instruction gives");
    to = static_cast<To>(from);
  }
}

template <class T, int COUNT, class... To>
__forceinline__ void ptx_set_all(const PtxVector<T, COUNT>& from, To&... to) {
  int i = 0;
  (ptx_set(from.x[i++], to), ...);
}

/// .ftz: a number below the smallest normal one is 0.
__forceinline__ float ptx_flushed(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

// ---- Memory

template <class T, class Address>
__forceinline__ auto ptx_global(Address address, int behind = 0) {
  const auto at = ptx_value<uintptr_t>(address) + static_cast<uintptr_t>(behind);
  return reinterpret_cast<T*>(at);
}
template <class T, class Address>
__forceinline__ auto ptx_shared(Address address, int behind = 0) {
  const auto at = ptx_value<uint32_t>(address) + static_cast<uint32_t>(behind);
  return static_cast<T*>(__cvta_shared_to_generic(at));
}
template <int COUNT, class T>
__forceinline__ PtxVector<T, COUNT> ptx_load(const T* from) {
  return *reinterpret_cast<const PtxVector<T, COUNT>*>(from);
}
/// Volatile, because an asm is: who waits for another thread's store reads again.
template <class T>
__forceinline__ T ptx_load_one(const T* from) {
  if constexpr (std::is_arithmetic_v<T>)
    return *static_cast<const volatile T*>(from);
  else
    return *from;
}
template <class T, int COUNT>
__forceinline__ void ptx_store(T* to, const T (&values)[COUNT]) {
  PtxVector<T, COUNT> vector;
  for (int i = 0; i < COUNT; ++i) vector.x[i] = values[i];
  *reinterpret_cast<PtxVector<T, COUNT>*>(to) = vector;
}

// ---- Threads

__forceinline__ unsigned ptx_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__forceinline__ unsigned ptx_threads() {
  return blockDim.x * blockDim.y * blockDim.z;
}
__forceinline__ void ptx_barrier(int barrier, SIMULATOR_WHERE) {
  if (barrier == 0)
    __syncthreads(where);
  else
    named_barrier(barrier, static_cast<int>((ptx_threads() + 31) / 32 * 32), true);
}

// ---- Bits

template <class T>
__forceinline__ T ptx_shift_left(T x, unsigned count) {
  return count < 8 * sizeof(T) ? static_cast<T>(x << count) : T{0};
}
template <class T>
__forceinline__ T ptx_shift_right(T x, unsigned count) {
  if (count < 8 * sizeof(T)) return static_cast<T>(x >> count);
  return x < 0 ? static_cast<T>(-1) : T{0};
}
/// `length` bits from bit `at` on; what is past the end is 0, or the sign.
template <class T>
__forceinline__ T ptx_bit_field(T x, unsigned at, unsigned length) {
  constexpr unsigned kBits = 8 * sizeof(T);
  at &= 255, length &= 255;
  if (length == 0) return 0;
  const T low = ptx_shift_right(x, at);
  const unsigned above = at + length < kBits ? kBits - length : 0;
  return static_cast<T>(static_cast<T>(static_cast<std::make_unsigned_t<T>>(low) << above) >>
                        above);
}
__forceinline__ unsigned ptx_insert(unsigned from, unsigned into, unsigned at, unsigned length) {
  const unsigned mask = ptx_shift_left(ptx_shift_left(1u, length & 255) - 1, at & 255);
  return (into & ~mask) | (ptx_shift_left(from, at & 255) & mask);
}
/// Bit 4·a + 2·b + c of the table, for each bit of the three.
__forceinline__ unsigned ptx_lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

// ---- Tensor cores

template <int COUNT>
__forceinline__ PtxVector<uint32_t, COUNT> ptx_ldmatrix(const void* row) {
  PtxVector<uint32_t, COUNT> to;
  ldmatrix(to.x, row, COUNT);
  return to;
}
template <int COUNT>
__forceinline__ PtxVector<uint32_t, COUNT> ptx_ldmatrix_trans(const void* row) {
  PtxVector<uint32_t, COUNT> to;
  ldmatrix_trans(to.x, row, COUNT);
  return to;
}
template <int A>
__forceinline__ PtxVector<float, 4> ptx_mma(void (*multiply)(float*, const uint32_t*, uint32_t,
                                                             uint32_t),
                                            const uint32_t (&a)[A], const uint32_t (&b)[2],
                                            const float (&c)[4]) {
  PtxVector<float, 4> d{{c[0], c[1], c[2], c[3]}};
  multiply(d.x, a, b[0], b[1]);
  return d;
}
__forceinline__ PtxVector<float, 4> ptx_mma(void (*multiply)(float*, const uint32_t*, uint32_t),
                                            const uint32_t (&a)[2], const uint32_t (&b)[1],
                                            const float (&c)[4]) {
  PtxVector<float, 4> d{{c[0], c[1], c[2], c[3]}};
  multiply(d.x, a, b[0]);
  return d;
}
/// Sums in fp16: they are made in fp32 and rounded.
template <class Multiply, int A, int B>
__forceinline__ PtxVector<uint32_t, 2> ptx_mma(Multiply multiply, const uint32_t (&a)[A],
                                               const uint32_t (&b)[B], const uint32_t (&c)[2]) {
  const float2 low = __half22float2(std::bit_cast<__half2>(c[0])),
               high = __half22float2(std::bit_cast<__half2>(c[1]));
  const PtxVector<float, 4> d = ptx_mma(multiply, a, b, {low.x, low.y, high.x, high.y});
  return {{std::bit_cast<uint32_t>(__floats2half2_rn(d.x[0], d.x[1])),
           std::bit_cast<uint32_t>(__floats2half2_rn(d.x[2], d.x[3]))}};
}

}  // namespace simulator
