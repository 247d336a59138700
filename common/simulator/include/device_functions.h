// Device side of CUDA C++: what a kernel may use without an #include. (CUDA C++ Programming Guide,
// "C++ Language Extensions".)
#pragma once

#include <time.h>

#include <bit>
#include <climits>
#include <cmath>
// With it isnan() and others need no std::. In C++20 lerp(), too, which CUDA does not declare: a
// program may have its own.
#define lerp fma
#include <math.h>
#undef lerp

#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "vector_types.h"

// ---- Qualifiers
// A call without <<<…>>> would run the kernel on the host: the warning is an error in a .cu file,
// but not where a launch makes the call (launch_site.h).
#define __global__                                                                   \
  __attribute__((noinline, warning("a __global__ function call must be configured: " \
                                   "kernel<<<grid, block>>>(arguments)")))
#define __device__
#define __host__
#define __constant__ static  // the translator drops a second "static" beside it
#define __managed__
// In a function also static; a worker runs one block at a time. Arrays begin at whole sectors of 32
// bytes: an asynchronous copy is counted by both its ends, wherever the linker puts the array.
// constinit: as in nvcc nothing runs to initialize one. Else the compiler guards an array of a
// class by a variable beside it, and what the kernel does to that is counted as its own. (Clang
// wants each member set for it.) no_reorder: behind an array lies the gap that the translator puts
// there; else GCC lays it before, and what goes past the end is not seen.
#ifdef __clang__
#define __shared__ __attribute__((aligned(32))) thread_local
#else
#define __shared__ __attribute__((aligned(32), no_reorder)) constinit thread_local
#endif
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __restrict__ __restrict
#define __launch_bounds__(...)
// The translator puts the size into the kernel's body; what it left in its place is refused.
#define __cluster_dims__(...) \
  _Pragma("GCC error \"the CPU backend has __cluster_dims__(x) only where a kernel is defined\"")
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

// ---- Built-in variables
// They live in the worker thread and change when it turns to another CUDA thread.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

// ---- Barriers, votes, shuffles
// The last parameter is the caller's source line, for reports.
namespace simulator {
using Where = std::source_location;

enum class BarrierKind { sync, count, all, any };
int block_barrier(BarrierKind kind, int predicate, Where where);

enum class WarpKind {
  sync,
  shuffle,
  ballot,
  all,
  any,
  match,
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  converge,
  matrix  // <ptx.h>: one of the operations of matrix.hpp
};
/// Waits for the lanes in `mask`. `value` is this lane's; `source` is the lane whose value a
/// shuffle returns. `is_signed` is for min and max.
uint64_t warp_operation(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                        Where where);
unsigned active_lanes();
int lane();
unsigned multiprocessor();  // one that the running block may be on

template <class T>
T shuffle(unsigned mask, T value, int source, Where where) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warp_operation(WarpKind::shuffle, mask, bits, source, false, where);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
/// The first lane of this lane's segment of `width` lanes.
inline int segment(int width) {
  return lane() & ~(width - 1);
}

template <class T>
unsigned match(unsigned mask, T value, Where where) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(warp_operation(WarpKind::match, mask, bits, 0, false, where));
}
template <class T>
T reduce(WarpKind kind, unsigned mask, T value, Where where) {
  return static_cast<T>(
      warp_operation(kind, mask, static_cast<uint32_t>(value), 0, std::is_signed_v<T>, where));
}
}  // namespace simulator

#define SIMULATOR_WHERE simulator::Where where = simulator::Where::current()

inline void __syncthreads(SIMULATOR_WHERE) {
  simulator::block_barrier(simulator::BarrierKind::sync, 0, where);
}
inline int __syncthreads_count(int predicate, SIMULATOR_WHERE) {
  return simulator::block_barrier(simulator::BarrierKind::count, predicate, where);
}
inline int __syncthreads_and(int predicate, SIMULATOR_WHERE) {
  return simulator::block_barrier(simulator::BarrierKind::all, predicate, where);
}
inline int __syncthreads_or(int predicate, SIMULATOR_WHERE) {
  return simulator::block_barrier(simulator::BarrierKind::any, predicate, where);
}
inline void __syncwarp(unsigned mask = 0xffffffff, SIMULATOR_WHERE) {
  simulator::warp_operation(simulator::WarpKind::sync, mask, 0, 0, false, where);
}
/// Only the caller's lane. CUDA does not promise more either: which lanes run together is the
/// scheduler's affair, and here each runs alone. A vote gives the lanes that a condition holds for.
inline unsigned __activemask() {
  return simulator::active_lanes();
}
inline unsigned __ballot_sync(unsigned mask, int predicate, SIMULATOR_WHERE) {
  return static_cast<unsigned>(simulator::warp_operation(simulator::WarpKind::ballot, mask,
                                                         predicate != 0, 0, false, where));
}
inline int __all_sync(unsigned mask, int predicate, SIMULATOR_WHERE) {
  return static_cast<int>(
      simulator::warp_operation(simulator::WarpKind::all, mask, predicate != 0, 0, false, where));
}
inline int __any_sync(unsigned mask, int predicate, SIMULATOR_WHERE) {
  return static_cast<int>(
      simulator::warp_operation(simulator::WarpKind::any, mask, predicate != 0, 0, false, where));
}

// Overloads, not templates, so that a short or a bool is promoted to int as CUDA's are.
#define SIMULATOR_SHUFFLES(type)                                                                \
  inline unsigned __match_any_sync(unsigned mask, type value, SIMULATOR_WHERE) {                \
    return simulator::match(mask, value, where);                                                \
  }                                                                                             \
  /* The mask where all its lanes hold one value, else 0. Lanes that have left do not count. */ \
  inline unsigned __match_all_sync(unsigned mask, type value, int* all, SIMULATOR_WHERE) {      \
    const unsigned here = __ballot_sync(mask, 1, where);                                        \
    *all = simulator::match(mask, value, where) == here;                                        \
    return *all ? here : 0;                                                                     \
  }                                                                                             \
  inline type __shfl_sync(unsigned mask, type value, int source, int width = 32,                \
                          SIMULATOR_WHERE) {                                                    \
    return simulator::shuffle(mask, value, simulator::segment(width) + (source & (width - 1)),  \
                              where);                                                           \
  }                                                                                             \
  inline type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32,         \
                             SIMULATOR_WHERE) {                                                 \
    const int source = simulator::lane() - static_cast<int>(delta % 64);                        \
    const bool outside = delta >= 32 || source < simulator::segment(width);                     \
    return simulator::shuffle(mask, value, outside ? simulator::lane() : source, where);        \
  }                                                                                             \
  inline type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32,       \
                               SIMULATOR_WHERE) {                                               \
    const int source = simulator::lane() + static_cast<int>(delta % 64);                        \
    const bool outside = delta >= 32 || source >= simulator::segment(width) + width;            \
    return simulator::shuffle(mask, value, outside ? simulator::lane() : source, where);        \
  }                                                                                             \
  inline type __shfl_xor_sync(unsigned mask, type value, int lane_mask, int width = 32,         \
                              SIMULATOR_WHERE) {                                                \
    const int source = simulator::lane() ^ (lane_mask & 31);                                    \
    /* an earlier segment is allowed */                                                         \
    const bool outside = source >= simulator::segment(width) + width;                           \
    return simulator::shuffle(mask, value, outside ? simulator::lane() : source, where);        \
  }
SIMULATOR_SHUFFLES(int)
SIMULATOR_SHUFFLES(unsigned int)
SIMULATOR_SHUFFLES(long)
SIMULATOR_SHUFFLES(unsigned long)
SIMULATOR_SHUFFLES(long long)
SIMULATOR_SHUFFLES(unsigned long long)
SIMULATOR_SHUFFLES(float)
SIMULATOR_SHUFFLES(double)
#undef SIMULATOR_SHUFFLES

// Those without a mask are gone from CUDA, too.
#define SIMULATOR_REMOVED(name) \
  __attribute__((error("CUDA 9 removed " #name "(): use " #name "_sync(mask, …)"))) int name(...);
SIMULATOR_REMOVED(__shfl)
SIMULATOR_REMOVED(__shfl_up)
SIMULATOR_REMOVED(__shfl_down)
SIMULATOR_REMOVED(__shfl_xor)
SIMULATOR_REMOVED(__ballot)
SIMULATOR_REMOVED(__all)
SIMULATOR_REMOVED(__any)
#undef SIMULATOR_REMOVED

#define SIMULATOR_WARP_REDUCTION(name, kind, type)                           \
  inline type name(unsigned mask, type value, SIMULATOR_WHERE) {             \
    return simulator::reduce(simulator::WarpKind::kind, mask, value, where); \
  }
SIMULATOR_WARP_REDUCTION(__reduce_add_sync, add, int)
SIMULATOR_WARP_REDUCTION(__reduce_add_sync, add, unsigned int)
SIMULATOR_WARP_REDUCTION(__reduce_min_sync, min, int)
SIMULATOR_WARP_REDUCTION(__reduce_min_sync, min, unsigned int)
SIMULATOR_WARP_REDUCTION(__reduce_max_sync, max, int)
SIMULATOR_WARP_REDUCTION(__reduce_max_sync, max, unsigned int)
SIMULATOR_WARP_REDUCTION(__reduce_and_sync, bit_and, unsigned int)
SIMULATOR_WARP_REDUCTION(__reduce_or_sync, bit_or, unsigned int)
SIMULATOR_WARP_REDUCTION(__reduce_xor_sync, bit_xor, unsigned int)
#undef SIMULATOR_WARP_REDUCTION

// ---- Memory
void __threadfence();
void __threadfence_block();
void __threadfence_system();

unsigned __isGlobal(const void* pointer);
unsigned __isShared(const void* pointer);
/// Shared memory has addresses of its own, small numbers, which instructions take.
size_t __cvta_generic_to_shared(const void* pointer);
void* __cvta_shared_to_generic(size_t address);
inline size_t __cvta_generic_to_global(const void* pointer) {
  return reinterpret_cast<size_t>(pointer);
}

// Hints on caching: they change no value.
#define SIMULATOR_LOAD(name) \
  template <class T>         \
  T name(const T* pointer) { \
    return *pointer;         \
  }
#define SIMULATOR_STORE(name)                            \
  template <class T>                                     \
  void name(T* pointer, std::type_identity_t<T> value) { \
    *pointer = value;                                    \
  }
SIMULATOR_LOAD(__ldg)
SIMULATOR_LOAD(__ldca)
SIMULATOR_LOAD(__ldcg)
SIMULATOR_LOAD(__ldcs)
SIMULATOR_LOAD(__ldcv)
SIMULATOR_LOAD(__ldlu)
SIMULATOR_STORE(__stcg)
SIMULATOR_STORE(__stcs)
SIMULATOR_STORE(__stwb)
SIMULATOR_STORE(__stwt)
#undef SIMULATOR_LOAD
#undef SIMULATOR_STORE

// Atomic functions return the old value. All blocks see them, on every worker thread; so the scopes
// _block and _system are as wide as the plain ones.
#define SIMULATOR_ATOMIC(name, type)            \
  type name(type* address, type value);         \
  type name##_block(type* address, type value); \
  type name##_system(type* address, type value);
#define SIMULATOR_ATOMIC_INTEGERS(name) \
  SIMULATOR_ATOMIC(name, int)           \
  SIMULATOR_ATOMIC(name, unsigned int)  \
  SIMULATOR_ATOMIC(name, unsigned long long)
#define SIMULATOR_ATOMIC_CAS(type)                               \
  type atomicCAS(type* address, type compare, type value);       \
  type atomicCAS_block(type* address, type compare, type value); \
  type atomicCAS_system(type* address, type compare, type value);
SIMULATOR_ATOMIC_INTEGERS(atomicAdd)
SIMULATOR_ATOMIC(atomicAdd, float)
SIMULATOR_ATOMIC(atomicAdd, double)
SIMULATOR_ATOMIC(atomicSub, int)
SIMULATOR_ATOMIC(atomicSub, unsigned int)
SIMULATOR_ATOMIC_INTEGERS(atomicExch)
SIMULATOR_ATOMIC(atomicExch, float)
SIMULATOR_ATOMIC_INTEGERS(atomicMin)
SIMULATOR_ATOMIC(atomicMin, long long)
SIMULATOR_ATOMIC_INTEGERS(atomicMax)
SIMULATOR_ATOMIC(atomicMax, long long)
SIMULATOR_ATOMIC_INTEGERS(atomicAnd)
SIMULATOR_ATOMIC(atomicAnd, long long)
SIMULATOR_ATOMIC_INTEGERS(atomicOr)
SIMULATOR_ATOMIC(atomicOr, long long)
SIMULATOR_ATOMIC_INTEGERS(atomicXor)
SIMULATOR_ATOMIC(atomicXor, long long)
SIMULATOR_ATOMIC(atomicInc, unsigned int)
SIMULATOR_ATOMIC(atomicDec, unsigned int)
unsigned short atomicCAS(unsigned short* address, unsigned short compare, unsigned short value);
SIMULATOR_ATOMIC_CAS(int)
SIMULATOR_ATOMIC_CAS(unsigned int)
SIMULATOR_ATOMIC_CAS(unsigned long long)
#undef SIMULATOR_ATOMIC_CAS
#undef SIMULATOR_ATOMIC_INTEGERS
#undef SIMULATOR_ATOMIC

// ---- Arithmetic
// The fast-math intrinsics give the host's exact functions: never less accurate than a GPU's.
inline float __expf(float x) {
  return expf(x);
}
inline float __exp10f(float x) {
  return powf(10.0f, x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __log2f(float x) {
  return log2f(x);
}
inline float __log10f(float x) {
  return log10f(x);
}
inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float __tanf(float x) {
  return tanf(x);
}
inline float __powf(float x, float y) {
  return powf(x, y);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float fdividef(float x, float y) {
  return x / y;
}
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
inline float rhypotf(float x, float y) {
  return static_cast<float>(1.0 / std::hypot(double{x}, double{y}));
}
inline float rcbrtf(float x) {
  return static_cast<float>(1.0 / std::cbrt(double{x}));
}
inline float norm3df(float x, float y, float z) {
  return static_cast<float>(std::hypot(double{x}, double{y}, double{z}));
}
inline float normcdff(float x) {
  return static_cast<float>(0.5 * std::erfc(-x * 0x1.6a09e667f3bcdp-1));
}

// Newer C libraries declare these themselves.
#ifndef __GLIBC_PREREQ
#define __GLIBC_PREREQ(major, minor) 0
#endif
#if !__GLIBC_PREREQ(2, 41)
double sinpi(double x);
double cospi(double x);
float sinpif(float x);
float cospif(float x);
#endif
#if !__GLIBC_PREREQ(2, 42)
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
#endif
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

// Arithmetic in a given rounding: _rn to nearest, _rz towards zero, _ru up, _rd down. Never
// contracted into a fused multiply-add.
#define SIMULATOR_ROUNDED_1(name, type) \
  type name##_rn(type x);               \
  type name##_rz(type x);               \
  type name##_ru(type x);               \
  type name##_rd(type x);
#define SIMULATOR_ROUNDED_2(name, type) \
  type name##_rn(type x, type y);       \
  type name##_rz(type x, type y);       \
  type name##_ru(type x, type y);       \
  type name##_rd(type x, type y);
#define SIMULATOR_ROUNDED_3(name, type)   \
  type name##_rn(type x, type y, type z); \
  type name##_rz(type x, type y, type z); \
  type name##_ru(type x, type y, type z); \
  type name##_rd(type x, type y, type z);
SIMULATOR_ROUNDED_2(__fadd, float)
SIMULATOR_ROUNDED_2(__fsub, float)
SIMULATOR_ROUNDED_2(__fmul, float)
SIMULATOR_ROUNDED_2(__fdiv, float)
SIMULATOR_ROUNDED_3(__fmaf, float)
SIMULATOR_ROUNDED_1(__frcp, float)
SIMULATOR_ROUNDED_1(__fsqrt, float)
SIMULATOR_ROUNDED_2(__dadd, double)
SIMULATOR_ROUNDED_2(__dsub, double)
SIMULATOR_ROUNDED_2(__dmul, double)
SIMULATOR_ROUNDED_2(__ddiv, double)
SIMULATOR_ROUNDED_3(__fma, double)
SIMULATOR_ROUNDED_1(__drcp, double)
SIMULATOR_ROUNDED_1(__dsqrt, double)
#undef SIMULATOR_ROUNDED_1
#undef SIMULATOR_ROUNDED_2
#undef SIMULATOR_ROUNDED_3
inline float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / std::sqrt(double{x}));
}

// ---- Conversions
#define SIMULATOR_CONVERSION(from, to, from_type, to_type) \
  to_type __##from##2##to##_rn(from_type x);               \
  to_type __##from##2##to##_rz(from_type x);               \
  to_type __##from##2##to##_ru(from_type x);               \
  to_type __##from##2##to##_rd(from_type x);
SIMULATOR_CONVERSION(int, float, int, float)
SIMULATOR_CONVERSION(uint, float, unsigned int, float)
SIMULATOR_CONVERSION(ll, float, long long, float)
SIMULATOR_CONVERSION(ull, float, unsigned long long, float)
SIMULATOR_CONVERSION(double, float, double, float)
SIMULATOR_CONVERSION(ll, double, long long, double)
SIMULATOR_CONVERSION(ull, double, unsigned long long, double)
// To an integer: what does not fit becomes the nearest that does.
SIMULATOR_CONVERSION(float, int, float, int)
SIMULATOR_CONVERSION(float, uint, float, unsigned int)
SIMULATOR_CONVERSION(float, ll, float, long long)
SIMULATOR_CONVERSION(float, ull, float, unsigned long long)
SIMULATOR_CONVERSION(double, int, double, int)
SIMULATOR_CONVERSION(double, uint, double, unsigned int)
SIMULATOR_CONVERSION(double, ll, double, long long)
SIMULATOR_CONVERSION(double, ull, double, unsigned long long)
#undef SIMULATOR_CONVERSION
inline double __int2double_rn(int x) {
  return x;
}
inline double __uint2double_rn(unsigned x) {
  return x;
}

inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<uint64_t>(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(std::bit_cast<uint64_t>(x));
}
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                               static_cast<uint32_t>(low));
}

// ---- Integers and bits
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
unsigned __brev(unsigned x);
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
/// Byte i of the result is the byte of y:x that digit i of `selector` names. A digit of 8 or more
/// gives that byte's sign, eight times.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned digit = selector >> (4 * i) & 7;
    result |= (static_cast<unsigned>(bytes >> digit * 8) & 0xff) << (8 * i);
  }
  return result;
}
/// The high or low word of high:low, shifted by shift modulo 32, or by at most 32 (…c).
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(
      ((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
/// The low 32 bits of the product of the low 24 bits, with and without a sign.
inline int __mul24(int x, int y) {
  const auto low24 = [](int v) { return static_cast<int>(static_cast<unsigned>(v) << 8) >> 8; };
  return static_cast<int>(static_cast<long long>(low24(x)) * low24(y));
}
inline unsigned __umul24(unsigned x, unsigned y) {
  return (x & 0xffffff) * (y & 0xffffff);
}
inline int __mulhi(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) * y) >> 32);
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
__extension__ typedef __int128 simulator_int128;
__extension__ typedef unsigned __int128 simulator_uint128;
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<simulator_int128>(x) * y) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<simulator_uint128>(x) * y) >> 64);
}
/// z + |x - y|.
inline unsigned __sad(int x, int y, unsigned z) {
  return z + (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                    : static_cast<unsigned>(x) - static_cast<unsigned>(y));
}
inline unsigned __usad(unsigned x, unsigned y, unsigned z) {
  return z + (x < y ? y - x : x - y);
}
/// The mean, rounded down (h) or up (rh), without overflow.
inline int __hadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
inline int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
inline unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
inline unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}

inline unsigned umin(unsigned x, unsigned y) {
  return y < x ? y : x;
}
inline unsigned umax(unsigned x, unsigned y) {
  return x < y ? y : x;
}
inline long long llmin(long long x, long long y) {
  return y < x ? y : x;
}
inline long long llmax(long long x, long long y) {
  return x < y ? y : x;
}
inline unsigned long long ullmin(unsigned long long x, unsigned long long y) {
  return y < x ? y : x;
}
inline unsigned long long ullmax(unsigned long long x, unsigned long long y) {
  return x < y ? y : x;
}

#define SIMULATOR_MIN_MAX(type)        \
  constexpr type min(type x, type y) { \
    return y < x ? y : x;              \
  }                                    \
  constexpr type max(type x, type y) { \
    return x < y ? y : x;              \
  }
SIMULATOR_MIN_MAX(int)
SIMULATOR_MIN_MAX(unsigned int)
SIMULATOR_MIN_MAX(long)
SIMULATOR_MIN_MAX(unsigned long)
SIMULATOR_MIN_MAX(long long)
SIMULATOR_MIN_MAX(unsigned long long)
#undef SIMULATOR_MIN_MAX
// Of two types: the unsigned one, or double, as in an expression.
#define SIMULATOR_MIN_MAX_MIXED(a, b, result)                   \
  constexpr result min(a x, b y) {                              \
    return min(static_cast<result>(x), static_cast<result>(y)); \
  }                                                             \
  constexpr result max(a x, b y) {                              \
    return max(static_cast<result>(x), static_cast<result>(y)); \
  }
SIMULATOR_MIN_MAX_MIXED(int, unsigned int, unsigned int)
SIMULATOR_MIN_MAX_MIXED(unsigned int, int, unsigned int)
SIMULATOR_MIN_MAX_MIXED(long, unsigned long, unsigned long)
SIMULATOR_MIN_MAX_MIXED(unsigned long, long, unsigned long)
SIMULATOR_MIN_MAX_MIXED(long long, unsigned long long, unsigned long long)
SIMULATOR_MIN_MAX_MIXED(unsigned long long, long long, unsigned long long)
#undef SIMULATOR_MIN_MAX_MIXED
inline float min(float x, float y) {
  return fminf(x, y);
}
inline float max(float x, float y) {
  return fmaxf(x, y);
}
inline double min(double x, double y) {
  return fmin(x, y);
}
inline double max(double x, double y) {
  return fmax(x, y);
}
inline double min(float x, double y) {
  return fmin(x, y);
}
inline double min(double x, float y) {
  return fmin(x, y);
}
inline double max(float x, double y) {
  return fmax(x, y);
}
inline double max(double x, float y) {
  return fmax(x, y);
}

inline void __nanosleep(unsigned) {}
[[noreturn]] void __trap();
// A counter that goes on; what lies between two readings of it means nothing here.
long long clock64();
// clock() is the C library's.
