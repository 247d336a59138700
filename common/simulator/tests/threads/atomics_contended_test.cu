// Every atomic function of every type, with many threads on one cell.
#include <algorithm>
#include <functional>
#include <type_traits>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr int kBlocks = 12, kThreads = 100, kAll = kBlocks * kThreads;

/// What thread i gives to an operation: of every magnitude and, where T has one, either sign.
template <class T>
__host__ __device__ T given(int i) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(i % 61 - 20);  // sums are exact
  else
    return static_cast<T>(0x9e3779b97f4a7c15ull * static_cast<unsigned long long>(i + 1));
}

#define OPERATION(name, function)                  \
  struct name {                                    \
    template <class T>                             \
    static __device__ T plain(T* cell, T value) {  \
      return function(cell, value);                \
    }                                              \
    template <class T>                             \
    static __device__ T block(T* cell, T value) {  \
      return function##_block(cell, value);        \
    }                                              \
    template <class T>                             \
    static __device__ T system(T* cell, T value) { \
      return function##_system(cell, value);       \
    }                                              \
  };
OPERATION(Add, atomicAdd)
OPERATION(Sub, atomicSub)
OPERATION(Min, atomicMin)
OPERATION(Max, atomicMax)
OPERATION(And, atomicAnd)
OPERATION(Or, atomicOr)
OPERATION(Xor, atomicXor)
OPERATION(Exch, atomicExch)

/// cells: 0 and 1 for all blocks, 2 + b for block b, through shared memory and directly.
template <class Op, class T>
__global__ void contend(T* cells) {
  __shared__ T own;
  const T value = given<T>(blockIdx.x * blockDim.x + threadIdx.x);
  if (threadIdx.x == 0) own = cells[2 + blockIdx.x];
  __syncthreads();
  Op::plain(&cells[0], value);
  Op::system(&cells[1], value);
  Op::block(&own, value);
  __syncthreads();
  if (threadIdx.x == 0) cells[2 + blockIdx.x] = own;
}

template <class Op, class T, class Combine>
void check_contended(T start, Combine combine) {
  tutorial::DeviceBuffer<T> cells(std::vector<T>(2 + kBlocks, start));
  contend<Op, T><<<kBlocks, kThreads>>>(cells.data());
  CUDA_CHECK_LAUNCH();
  std::vector<T> want(2 + kBlocks, start);
  for (int i = 0; i < kAll; ++i)
    for (int cell : {0, 1, 2 + i / kThreads})
      want[cell] = static_cast<T>(combine(want[cell], given<T>(i)));
  CAPTURE(typeid(Op).name(), typeid(T).name());
  CHECK(cells.to_host() == want);
}

/// Wraps round, as the device's integers do.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
}
template <class T>
T minus(T a, T b) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) -
                        static_cast<std::make_unsigned_t<T>>(b));
}

template <class T>
void check_bits_and_order() {
  check_contended<Min, T>(given<T>(5), [](T a, T b) { return std::min(a, b); });
  check_contended<Max, T>(given<T>(5), [](T a, T b) { return std::max(a, b); });
  check_contended<And, T>(static_cast<T>(~T(0)), std::bit_and<T>());
  check_contended<Or, T>(T(0), std::bit_or<T>());
  check_contended<Xor, T>(T(9), std::bit_xor<T>());
}

/// The values that pass through a cell.
template <class T>
__global__ void exchange(T* cell, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = atomicExch(cell, static_cast<T>(i));
}
template <class T>
void check_exchange() {
  tutorial::DeviceBuffer<T> cell(std::vector<T>{static_cast<T>(kAll)});
  auto got =
      run_kernel<T>(kAll, [&](T* out) { exchange<<<kBlocks, kThreads>>>(cell.data(), out); });
  got.push_back(cell.to_host()[0]);
  std::sort(got.begin(), got.end());
  int wrong = 0;
  for (int i = 0; i <= kAll; ++i) wrong += got[i] != static_cast<T>(i);
  CAPTURE(sizeof(T));
  CHECK(wrong == 0);
}
/// Of one thread, in each scope.
template <class T>
__global__ void exchange_scopes(T* cell, T* out) {
  out[0] = Exch::plain(cell, T(1));
  out[1] = Exch::block(cell, T(2));
  out[2] = Exch::system(cell, T(3));
}

/// Adds 3 by a loop around a compare-and-swap, which begins with a plain read.
template <class T, class Swap>
__device__ void add_by_cas(T* cell, Swap swap) {
  T seen = *cell, expected;
  do {
    expected = seen;
    seen = swap(cell, expected, static_cast<T>(expected + 3));
  } while (seen != expected);
}
template <class T>
__device__ T cas(T* cell, T expected, T value) {
  return atomicCAS(cell, expected, value);
}
/// cells: one for all; then, where there are scopes, another, and one for each block.
template <class T>
__global__ void cas_loops(T* cells) {
  add_by_cas(&cells[0], cas<T>);
  if constexpr (sizeof(T) > 2) {
    add_by_cas(&cells[1], [](T* cell, T expected, T value) {
      return atomicCAS_system(cell, expected, value);
    });
    add_by_cas(&cells[2 + blockIdx.x],
               [](T* cell, T expected, T value) { return atomicCAS_block(cell, expected, value); });
  }
}
template <class T>
void check_cas() {
  const T start = 65000;  // a short one wraps
  tutorial::DeviceBuffer<T> cells(std::vector<T>(2 + kBlocks, start));
  cas_loops<<<kBlocks, kThreads>>>(cells.data());
  CUDA_CHECK_LAUNCH();
  std::vector<T> want(2 + kBlocks, start);
  want[0] = static_cast<T>(start + 3 * kAll);
  if (sizeof(T) > 2) {
    want[1] = want[0];
    for (int b = 0; b < kBlocks; ++b) want[2 + b] = static_cast<T>(start + 3 * kThreads);
  }
  CAPTURE(sizeof(T));
  CHECK(cells.to_host() == want);
}

__global__ void count_round(unsigned* cells) {
  atomicInc(&cells[0], 6);
  atomicDec(&cells[1], 6);
  atomicInc_block(&cells[2 + blockIdx.x], 6);
  atomicDec_system(&cells[1], 6);
  atomicInc_system(&cells[0], 6);
  atomicDec_block(&cells[2 + gridDim.x + blockIdx.x], 6);
}

}  // namespace

TEST_CASE("atomic sums under contention", "[atomics]") {
  check_contended<Add, int>(7, plus<int>);
  check_contended<Add, unsigned>(7u, plus<unsigned>);
  check_contended<Add, unsigned long long>(7ull, plus<unsigned long long>);
  check_contended<Add, float>(7.0f, plus<float>);
  check_contended<Add, double>(7.0, plus<double>);
  check_contended<Sub, int>(7, minus<int>);
  check_contended<Sub, unsigned>(7u, minus<unsigned>);
}

TEST_CASE("atomic minimum, maximum and bits under contention", "[atomics]") {
  check_bits_and_order<int>();
  check_bits_and_order<unsigned>();
  check_bits_and_order<long long>();
  check_bits_and_order<unsigned long long>();
}

TEST_CASE("atomicExch of every type passes each value on once", "[atomics]") {
  check_exchange<int>();
  check_exchange<unsigned>();
  check_exchange<unsigned long long>();
  check_exchange<float>();
  tutorial::DeviceBuffer<float> cell(std::vector<float>{0.5f});
  const auto got =
      run_kernel<float>(3, [&](float* out) { exchange_scopes<<<1, 1>>>(cell.data(), out); });
  CHECK(got == std::vector<float>{0.5f, 1, 2});
  CHECK(cell.to_host()[0] == 3);
}

TEST_CASE("loops around atomicCAS under contention", "[atomics]") {
  check_cas<unsigned short>();
  check_cas<int>();
  check_cas<unsigned>();
  check_cas<unsigned long long>();
}

TEST_CASE("atomicInc and atomicDec of many blocks wrap", "[atomics]") {
  tutorial::DeviceBuffer<unsigned> cells(std::vector<unsigned>(2 + 2 * kBlocks, 0));
  count_round<<<kBlocks, kThreads>>>(cells.data());
  CUDA_CHECK_LAUNCH();
  const auto got = cells.to_host();
  CHECK(got[0] == 2 * kAll % 7);
  CHECK(got[1] == (7 - 2 * kAll % 7) % 7);
  for (int b = 0; b < kBlocks; ++b) {
    CHECK(got[2 + b] == kThreads % 7);
    CHECK(got[2 + kBlocks + b] == (7 - kThreads % 7) % 7);
  }
}
