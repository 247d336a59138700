// Atomic functions, in global and in shared memory.
#include <algorithm>
#include <limits>
#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

enum class Op { add, sub, exchange, min, max, bit_and, bit_or, bit_xor };

template <Op OP, class T>
__device__ T apply(T* cell, T value) {
  if constexpr (OP == Op::add) return atomicAdd(cell, value);
  if constexpr (OP == Op::sub) return atomicSub(cell, value);
  if constexpr (OP == Op::exchange) return atomicExch(cell, value);
  if constexpr (OP == Op::min) return atomicMin(cell, value);
  if constexpr (OP == Op::max) return atomicMax(cell, value);
  if constexpr (OP == Op::bit_and) return atomicAnd(cell, value);
  if constexpr (OP == Op::bit_or) return atomicOr(cell, value);
  if constexpr (OP == Op::bit_xor) return atomicXor(cell, value);
}

template <Op OP, class T>
T combined(T a, T b) {
  if constexpr (OP == Op::add) return a + b;
  if constexpr (OP == Op::sub) return a - b;
  if constexpr (OP == Op::exchange) return b;
  if constexpr (OP == Op::min) return std::min(a, b);
  if constexpr (OP == Op::max) return std::max(a, b);
  if constexpr (OP == Op::bit_and) return a & b;
  if constexpr (OP == Op::bit_or) return a | b;
  if constexpr (OP == Op::bit_xor) return a ^ b;
}

/// One thread: cell 0 in global memory, cell 1 through shared memory. out is old, new, old, new.
template <Op OP, class T>
__global__ void once(T start, T value, T* out) {
  __shared__ T cell;
  out[1] = start;
  out[0] = apply<OP>(&out[1], value);
  cell = start;
  out[2] = apply<OP>(&cell, value);
  out[3] = cell;
}

template <Op OP, class T>
void check_op() {
  const T low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
  const std::pair<T, T> cases[] = {{T(5), T(3)}, {T(3), T(5)}, {T(0), T(7)}, {T(12), T(10)},
                                   {low, T(1)},  {T(1), low},  {T(1), high}, {high, high}};
  for (const auto& [start, value] : cases) {
    if constexpr (std::is_signed_v<T>)  // no overflow on the host
      if ((OP == Op::add || OP == Op::sub) &&
          std::max(std::abs(start / 2), std::abs(value / 2)) > high / 4)
        continue;
    const auto got =
        run_kernel<T>(4, [s = start, v = value](T* out) { once<OP, T><<<1, 1>>>(s, v, out); });
    const T want = combined<OP, T>(start, value);
    CHECK(got == std::vector<T>{start, want, start, want});
  }
}
template <class T, Op... OPS>
void check_ops() {
  (check_op<OPS, T>(), ...);
}

/// Every thread of the grid adds to one cell; each old value is seen exactly once.
template <class T>
__global__ void tickets(T* counter, T* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, T(1));
}

template <class T>
void check_tickets() {
  const int threads = 50 * 200;
  tutorial::DeviceBuffer<T> counter(std::vector<T>{0});
  auto got = run_kernel<T>(threads, [&](T* out) { tickets<<<50, 200>>>(counter.data(), out); });
  std::vector<T> want(threads);
  std::iota(want.begin(), want.end(), T(0));
  std::sort(got.begin(), got.end());
  CHECK(got == want);
  CHECK(counter.to_host()[0] == T(threads));
}

__global__ void extremes(const int* in, int count, int* least, int* greatest) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    atomicMin(least, in[i]);
    atomicMax(greatest, in[i]);
  }
}

__global__ void histogram(const unsigned char* in, int count, int* bins) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&own[in[i] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

/// The usual loop for an operation that has no atomic function.
__device__ float atomic_max_float(float* cell, float value) {
  int* const bits = reinterpret_cast<int*>(cell);
  int old = *bits;
  while (__int_as_float(old) < value) {
    const int seen = atomicCAS(bits, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
  return __int_as_float(old);
}
__global__ void max_by_cas(float* cell) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomic_max_float(cell, static_cast<float>(i * 7919 % 6400) - 3200.0f);
}

template <class T>
__global__ void swaps(T* cells, T* out) {
  out[0] = atomicCAS(&cells[0], T(5), T(9));  // holds 5: becomes 9
  out[1] = atomicCAS(&cells[1], T(5), T(9));  // holds 6: stays
}

/// The values that pass through a cell: each thread takes one out and leaves one.
__global__ void exchange_all(int* cell, int* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  out[i] = atomicExch(cell, i);
}

__global__ void wrap(unsigned* up, unsigned* down, unsigned* out) {
  out[threadIdx.x] = atomicInc(up, 9);
  out[blockDim.x + threadIdx.x] = atomicDec(down, 9);
}

/// The block that finishes last adds up what all blocks wrote.
__global__ void sum_by_last_block(int* partial, unsigned* done, int* total) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = static_cast<int>(blockIdx.x);
    __threadfence();
    is_last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    __threadfence();
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += *static_cast<volatile int*>(&partial[i]);
    *total = sum;
  }
}

}  // namespace

TEST_CASE("each atomic function, alone", "[atomics]") {
  using enum Op;
  check_ops<int, add, sub, exchange, min, max, bit_and, bit_or, bit_xor>();
  check_ops<unsigned, add, sub, exchange, min, max, bit_and, bit_or, bit_xor>();
  check_ops<unsigned long long, add, exchange, min, max, bit_and, bit_or, bit_xor>();
  check_ops<long long, min, max>();
  check_ops<float, add, exchange>();
  check_ops<double, add>();
}

TEST_CASE("atomicAdd from many threads loses nothing", "[atomics]") {
  check_tickets<int>();
  check_tickets<unsigned>();
  check_tickets<unsigned long long>();
  check_tickets<float>();  // exact: fewer than 2^24
  check_tickets<double>();
}

TEST_CASE("atomicMin and atomicMax from many threads", "[atomics]") {
  std::vector<int> values(5000);
  for (int i = 0; i < 5000; ++i) values[i] = (i * 7919 + 13) % 10007 - 5000;
  const tutorial::DeviceBuffer<int> in(values);
  tutorial::DeviceBuffer<int> least(std::vector<int>{0}), greatest(std::vector<int>{0});
  extremes<<<7, 96>>>(in.data(), 5000, least.data(), greatest.data());
  CUDA_CHECK_LAUNCH();
  CHECK(least.to_host()[0] == *std::min_element(values.begin(), values.end()));
  CHECK(greatest.to_host()[0] == *std::max_element(values.begin(), values.end()));
}

TEST_CASE("a histogram in shared memory", "[atomics]") {
  std::vector<unsigned char> values(10000);
  std::vector<int> want(16);
  for (int i = 0; i < 10000; ++i) {
    values[i] = static_cast<unsigned char>(i * i % 251);
    ++want[values[i] % 16];
  }
  const tutorial::DeviceBuffer<unsigned char> in(values);
  tutorial::DeviceBuffer<int> bins(std::vector<int>(16, 0));
  histogram<<<9, 128>>>(in.data(), 10000, bins.data());
  CUDA_CHECK_LAUNCH();
  CHECK(bins.to_host() == want);
}

TEST_CASE("atomicCAS", "[atomics]") {
  tutorial::DeviceBuffer<float> cell(std::vector<float>{-1e30f});
  max_by_cas<<<50, 128>>>(cell.data());
  CUDA_CHECK_LAUNCH();
  CHECK(cell.to_host()[0] == 3199.0f);

  const auto check = [](auto zero) {
    using T = decltype(zero);
    tutorial::DeviceBuffer<T> cells(std::vector<T>{5, 6});
    const auto old = run_kernel<T>(2, [&](T* out) { swaps<<<1, 1>>>(cells.data(), out); });
    CHECK(old == std::vector<T>{5, 6});
    CHECK(cells.to_host() == std::vector<T>{9, 6});
  };
  check(0);
  check(0u);
  check(0ull);
}

TEST_CASE("atomicExch passes each value on once", "[atomics]") {
  tutorial::DeviceBuffer<int> cell(std::vector<int>{-7});
  auto got = run_kernel<int>(1000, [&](int* out) { exchange_all<<<10, 100>>>(cell.data(), out); });
  got.push_back(cell.to_host()[0]);
  std::sort(got.begin(), got.end());
  std::vector<int> want(1001, -7);
  std::iota(want.begin() + 1, want.end(), 0);
  CHECK(got == want);
}

TEST_CASE("atomicInc and atomicDec wrap", "[atomics]") {
  tutorial::DeviceBuffer<unsigned> up(std::vector<unsigned>{0}), down(std::vector<unsigned>{20});
  auto got = run_kernel<unsigned>(
      50, [&](unsigned* out) { wrap<<<1, 25>>>(up.data(), down.data(), out); });
  CHECK(up.to_host()[0] == 25 % 10);
  CHECK(down.to_host()[0] == 9 - 24 % 10);  // 20 is above the limit: the first call makes it 9
  CHECK(std::count(got.begin(), got.begin() + 25, 4u) == 3);
  CHECK(std::count(got.begin() + 25, got.end(), 20u) == 1);
  CHECK(*std::max_element(got.begin(), got.begin() + 25) == 9);
}

TEST_CASE("the last block sees what the others wrote", "[atomics]") {
  tutorial::DeviceBuffer<int> partial(200);
  tutorial::DeviceBuffer<unsigned> done(std::vector<unsigned>{0});
  const auto total = run_kernel<int>(
      1, [&](int* out) { sum_by_last_block<<<200, 64>>>(partial.data(), done.data(), out); });
  CHECK(total[0] == 199 * 200 / 2);
}
