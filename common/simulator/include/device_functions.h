// Device side of CUDA C++: what a kernel may use without an #include. (CUDA C++ Programming Guide,
// "C++ Language Extensions".)
#pragma once

#include <math.h>  // with it isnan() and others need no std::

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "vector_types.h"

// ---- Qualifiers
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static thread_local  // a worker thread runs one block at a time
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

// ---- Built-in variables
// They live in the
// worker thread and change when it turns to another CUDA thread.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

// ---- Barriers, votes, shuffles
// The last parameter is the
// caller's source line, for reports.
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
  bit_xor
};
/// Waits for the lanes in `mask`. `value` is this lane's; `source` is the lane whose value a
/// shuffle returns. `is_signed` is for min and max.
uint64_t warp_operation(WarpKind kind, unsigned mask, uint64_t value, int source, bool is_signed,
                        Where where);
unsigned active_lanes();
int lane();

template <class T>
T shuffle(unsigned mask, T value, int source, Where where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
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
T reduce(WarpKind kind, unsigned mask, T value, Where where) {
  static_assert(sizeof(T) == 4, "warp reductions take 4-byte integers");
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
template <class T>
unsigned __match_any_sync(unsigned mask, T value, SIMULATOR_WHERE) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(
      simulator::warp_operation(simulator::WarpKind::match, mask, bits, 0, false, where));
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMULATOR_WHERE) {
  return simulator::shuffle(mask, value, simulator::segment(width) + (source & (width - 1)), where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMULATOR_WHERE) {
  const int source = simulator::lane() - static_cast<int>(delta % 64);
  const bool outside = delta >= 32 || source < simulator::segment(width);
  return simulator::shuffle(mask, value, outside ? simulator::lane() : source, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMULATOR_WHERE) {
  const int source = simulator::lane() + static_cast<int>(delta % 64);
  const bool outside = delta >= 32 || source >= simulator::segment(width) + width;
  return simulator::shuffle(mask, value, outside ? simulator::lane() : source, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, SIMULATOR_WHERE) {
  const int source = simulator::lane() ^ (lane_mask & 31);
  const bool outside =
      source >= simulator::segment(width) + width;  // an earlier segment is allowed
  return simulator::shuffle(mask, value, outside ? simulator::lane() : source, where);
}

#define SIMULATOR_WARP_REDUCTION(name, kind)                                 \
  template <class T>                                                         \
  T name(unsigned mask, T value, SIMULATOR_WHERE) {                          \
    return simulator::reduce(simulator::WarpKind::kind, mask, value, where); \
  }
SIMULATOR_WARP_REDUCTION(__reduce_add_sync, add)
SIMULATOR_WARP_REDUCTION(__reduce_min_sync, min)
SIMULATOR_WARP_REDUCTION(__reduce_max_sync, max)
SIMULATOR_WARP_REDUCTION(__reduce_and_sync, bit_and)
SIMULATOR_WARP_REDUCTION(__reduce_or_sync, bit_or)
SIMULATOR_WARP_REDUCTION(__reduce_xor_sync, bit_xor)
#undef SIMULATOR_WARP_REDUCTION

// ---- Memory
void __threadfence();
void __threadfence_block();
void __threadfence_system();

template <class T>
T __ldg(const T* pointer) {
  return *pointer;
}
template <class T>
T __ldcs(const T* pointer) {
  return *pointer;
}
template <class T>
T __ldcg(const T* pointer) {
  return *pointer;
}
template <class T>
void __stcs(T* pointer, T value) {
  *pointer = value;
}
template <class T>
void __stcg(T* pointer, T value) {
  *pointer = value;
}

// Atomic functions return the old value. All blocks see them, on every worker thread.
#define SIMULATOR_ATOMIC(name, type) type name(type* address, type value);
#define SIMULATOR_ATOMIC_INTEGERS(name) \
  SIMULATOR_ATOMIC(name, int)           \
  SIMULATOR_ATOMIC(name, unsigned int)  \
  SIMULATOR_ATOMIC(name, unsigned long long)
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
SIMULATOR_ATOMIC_INTEGERS(atomicOr)
SIMULATOR_ATOMIC_INTEGERS(atomicXor)
SIMULATOR_ATOMIC(atomicInc, unsigned int)
SIMULATOR_ATOMIC(atomicDec, unsigned int)
int atomicCAS(int* address, int compare, int value);
unsigned int atomicCAS(unsigned int* address, unsigned int compare, unsigned int value);
unsigned long long atomicCAS(unsigned long long* address, unsigned long long compare,
                             unsigned long long value);
#undef SIMULATOR_ATOMIC_INTEGERS
#undef SIMULATOR_ATOMIC

// ---- Arithmetic
// The
// fast-math intrinsics give the host's exact functions: never less accurate than a GPU's.
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
inline float __powf(float x, float y) {
  return powf(x, y);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float fdividef(float x, float y) {
  return x / y;
}
inline float __fdiv_rn(float x, float y) {
  return x / y;
}
inline float __frcp_rn(float x) {
  return 1.0f / x;
}
inline float __fsqrt_rn(float x) {
  return sqrtf(x);
}
inline float __frsqrt_rn(float x) {
  return 1.0f / sqrtf(x);
}
inline float __fadd_rn(float x, float y) {
  return x + y;
}
inline float __fmul_rn(float x, float y) {
  return x * y;
}
inline float __fmaf_rn(float x, float y, float z) {
  return fmaf(x, y, z);
}
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
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
inline int __mul24(int x, int y) {
  return x * y;
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
inline int __float2int_rn(float x) {
  return static_cast<int>(rintf(x));
}
inline int __float2int_rz(float x) {
  return static_cast<int>(x);
}
inline float __int2float_rn(int x) {
  return static_cast<float>(x);
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
constexpr unsigned int min(int x, unsigned int y) {
  return min(static_cast<unsigned int>(x), y);
}
constexpr unsigned int min(unsigned int x, int y) {
  return min(x, static_cast<unsigned int>(y));
}
constexpr unsigned int max(int x, unsigned int y) {
  return max(static_cast<unsigned int>(x), y);
}
constexpr unsigned int max(unsigned int x, int y) {
  return max(x, static_cast<unsigned int>(y));
}
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

inline void __nanosleep(unsigned) {}
[[noreturn]] void __trap();
long long clock64();
