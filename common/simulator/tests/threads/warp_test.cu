// What the 32 threads of a warp do together: shuffles, votes, reductions, __syncwarp.
#include <algorithm>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int kWidths[] = {1, 2, 4, 8, 16, 32};

enum class Shuffle { index, up, down, exclusive_or };

/// A value whose every byte depends on the lane.
template <class T>
__host__ __device__ T value_of(int lane) {
  if constexpr (sizeof(T) == 8 && std::is_integral_v<T>)
    return static_cast<T>(0x0123456789abcdefull * static_cast<unsigned long long>(lane + 1));
  else
    return static_cast<T>(lane * 1000003 + 17);
}

template <class T>
__device__ T shuffled(Shuffle kind, unsigned mask, T value, int argument, int width) {
  switch (kind) {
    case Shuffle::index:
      return __shfl_sync(mask, value, argument, width);
    case Shuffle::up:
      return __shfl_up_sync(mask, value, static_cast<unsigned>(argument), width);
    case Shuffle::down:
      return __shfl_down_sync(mask, value, static_cast<unsigned>(argument), width);
    default:
      return __shfl_xor_sync(mask, value, argument, width);
  }
}

/// The lane that a shuffle reads, as the programming guide says it.
int source_lane(Shuffle kind, int lane, int argument, int width) {
  const int first = lane / width * width, last = first + width - 1;
  int source = lane;
  if (kind == Shuffle::index) return first + ((argument % width) + width) % width;
  if (kind == Shuffle::up) source = lane - argument;
  if (kind == Shuffle::down) source = lane + argument;
  if (kind == Shuffle::exclusive_or) source = lane ^ argument;
  // Beyond the segment the own value stays; only xor may reach into an earlier one.
  if (source > last || (source < first && kind == Shuffle::up)) return lane;
  return source;
}

template <class T>
__global__ void shuffles(Shuffle kind, int width, const int* arguments, int count, T* out) {
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = 0; i < count; ++i)
    out[32 * i + lane] = shuffled(kind, kAll, value_of<T>(lane), arguments[i], width);
}

template <class T>
void check_shuffles() {
  std::vector<int> within, anywhere;
  for (int i = 0; i < 32; ++i) within.push_back(i);
  for (int i = -40; i < 70; ++i) anywhere.push_back(i);
  for (const Shuffle kind : {Shuffle::index, Shuffle::up, Shuffle::down, Shuffle::exclusive_or})
    for (const int width : kWidths) {
      const std::vector<int>& arguments = kind == Shuffle::index ? anywhere : within;
      const int count = static_cast<int>(arguments.size());
      const tutorial::DeviceBuffer<int> on_device(arguments);
      const auto got = run_kernel<T>(32 * count, [&](T* out) {
        shuffles<<<1, 32>>>(kind, width, on_device.data(), count, out);
      });
      bool same = true;
      for (int i = 0; i < count; ++i)
        for (int lane = 0; lane < 32; ++lane)
          same &= got[32 * i + lane] == value_of<T>(source_lane(kind, lane, arguments[i], width));
      CAPTURE(static_cast<int>(kind), width, sizeof(T));
      CHECK(same);
    }
}

/// The lanes of each mask shuffle among themselves, in branches of their own.
__global__ void odd_and_even(int* out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int sum = lane;
  if (lane % 2 == 1) {
    for (int step = 2; step < 32; step *= 2) sum += __shfl_xor_sync(0xaaaaaaaau, sum, step);
  } else {
    sum = __shfl_sync(0x55555555u, lane * 10, 4);
  }
  out[threadIdx.x] = sum;
}
__global__ void halves(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 16)
    out[lane] = __shfl_down_sync(0x0000ffffu, lane, 1, 16);
  else
    out[lane] = __shfl_up_sync(0xffff0000u, lane, 1, 16);
}
/// Lanes that have left no longer take part, whatever the mask says.
__global__ void some_leave(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= 20) return;
  out[lane] = __shfl_sync(kAll, lane, 19 - lane) + static_cast<int>(__ballot_sync(kAll, 1));
}
/// Each warp makes a number of shuffles of its own.
__global__ void warps_differ(int* out) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  int value = static_cast<int>(threadIdx.x);
  for (int i = 0; i < 3 * warp; ++i) value = __shfl_sync(kAll, value, (value + 1) % 32);
  out[threadIdx.x] = value;
}
/// The sum of the threads' numbers, by warps and then by the first warp.
__global__ void block_sum(float* out) {
  __shared__ float partial[32];
  const unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
  const unsigned threads = blockDim.x * blockDim.y;
  float sum = static_cast<float>(t);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(kAll, sum, step);
  if (t % 32 == 0) partial[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < threads / 32 ? partial[t] : 0.0f;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kAll, sum, step);
    if (t == 0) out[blockIdx.x] = sum;
  }
}

struct Votes {
  unsigned ballot;
  int all, any;
};
/// `bits` says which lanes vote yes. Lanes outside the mask do not come.
__global__ void votes(unsigned mask, unsigned bits, Votes* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (!(mask >> lane & 1)) return;
  const int yes = bits >> lane & 1 ? 5 : 0;
  out[lane].ballot = __ballot_sync(mask, yes);
  out[lane].all = __all_sync(mask, yes);
  out[lane].any = __any_sync(mask, yes);
}

__global__ void matches(unsigned mask, const int* values, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (mask >> lane & 1) out[lane] = __match_any_sync(mask, values[lane]);
}

template <class T>
struct Reduced {
  T sum, least, greatest;
  unsigned both, either, parity;
};
template <class T>
__global__ void reductions(unsigned mask, const T* values, Reduced<T>* out) {
#ifdef HAS_SM_80
  const int lane = static_cast<int>(threadIdx.x);
  if (!(mask >> lane & 1)) return;
  const unsigned bits = static_cast<unsigned>(values[lane]);
  out[lane] = {__reduce_add_sync(mask, values[lane]), __reduce_min_sync(mask, values[lane]),
               __reduce_max_sync(mask, values[lane]), __reduce_and_sync(mask, bits),
               __reduce_or_sync(mask, bits),          __reduce_xor_sync(mask, bits)};
#endif
}

/// Lanes hand values on through shared memory, ordered by __syncwarp alone.
__global__ void through_shared(int* out) {
  __shared__ int slots[64];
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32 * 32;
  int value = t;
  for (int round = 0; round < 5; ++round) {
    slots[t] = value;
    __syncwarp();
    value = slots[warp + (lane + 1) % 32];
    __syncwarp();
  }
  if (lane < 8) {
    slots[t] = value;
    __syncwarp(0xffu);
    value = slots[warp + 7 - lane];
  }
  out[t] = value;
}

constexpr unsigned kMasks[] = {kAll, 0x1u, 0x80000000u, 0xffu, 0xaaaaaaaau, 0x00f0f00fu};

}  // namespace

TEST_CASE("shuffles of every kind, width and argument", "[warp]") {
  check_shuffles<int>();
  check_shuffles<unsigned>();
  check_shuffles<float>();
  check_shuffles<long>();
  check_shuffles<long long>();
  check_shuffles<unsigned long long>();
  check_shuffles<double>();
}

TEST_CASE("shuffles among some lanes", "[warp]") {
  const auto parts = run_kernel<int>(64, [](int* out) { odd_and_even<<<1, 64>>>(out); });
  for (int t = 0; t < 64; ++t) CHECK(parts[t] == (t % 2 == 1 ? 16 * 16 : 40));

  const auto lower_and_upper = run_kernel<int>(32, [](int* out) { halves<<<1, 32>>>(out); });
  for (int t = 0; t < 32; ++t)
    CHECK(lower_and_upper[t] == (t < 15 ? t + 1 : t == 15 ? 15 : t == 16 ? 16 : t - 1));
}

TEST_CASE("lanes that have left, or never were, are not waited for", "[warp]") {
  for (const int threads : {20, 32}) {  // a warp of 20 threads, and one that 12 threads leave
    const auto got = run_kernel<int>(20, [&](int* out) { some_leave<<<1, threads>>>(out); });
    for (int t = 0; t < 20; ++t) CHECK(got[t] == 19 - t + 0xfffff);
  }
}

TEST_CASE("warps go their own ways", "[warp]") {
  const auto got = run_kernel<int>(256, [](int* out) { warps_differ<<<1, 256>>>(out); });
  std::vector<int> want(256);
  for (int warp = 0; warp < 8; ++warp) {
    std::vector<int> now(32), before(32);
    for (int lane = 0; lane < 32; ++lane) now[lane] = 32 * warp + lane;
    for (int i = 0; i < 3 * warp; ++i) {
      before = now;
      for (int lane = 0; lane < 32; ++lane) now[lane] = before[(before[lane] + 1) % 32];
    }
    std::copy(now.begin(), now.end(), want.begin() + 32 * warp);
  }
  CHECK(got == want);
}

TEST_CASE("the sum of a block", "[warp]") {
  for (const dim3 block : {dim3(32), dim3(64), dim3(1024), dim3(16, 16), dim3(8, 12)}) {
    const auto got = run_kernel<float>(5, [&](float* out) { block_sum<<<5, block>>>(out); });
    const int threads = static_cast<int>(block.x * block.y);
    CHECK(got == std::vector<float>(5, static_cast<float>(threads * (threads - 1) / 2)));
  }
}

TEST_CASE("votes", "[warp]") {
  for (const unsigned mask : kMasks)
    for (const unsigned bits : {0u, kAll, 0x1u, 0x80000001u, 0xaaaaaaaau, 0x0000ffffu}) {
      const auto got =
          run_kernel<Votes>(32, [&](Votes* out) { votes<<<1, 32>>>(mask, bits, out); });
      CAPTURE(mask, bits);
      for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        CHECK(got[lane].ballot == (mask & bits));
        CHECK((got[lane].all != 0) == ((mask & bits) == mask));
        CHECK((got[lane].any != 0) == ((mask & bits) != 0));
      }
    }
}

TEST_CASE("__match_any_sync", "[warp]") {
  std::vector<int> values(32);
  for (int lane = 0; lane < 32; ++lane) values[lane] = lane * lane % 7 - 3;
  const tutorial::DeviceBuffer<int> in(values);
  for (const unsigned mask : kMasks) {
    const auto got =
        run_kernel<unsigned>(32, [&](unsigned* out) { matches<<<1, 32>>>(mask, in.data(), out); });
    for (int lane = 0; lane < 32; ++lane) {
      if (!(mask >> lane & 1)) continue;
      unsigned want = 0;
      for (int other = 0; other < 32; ++other)
        if (values[other] == values[lane]) want |= 1u << other;
      CHECK(got[lane] == (want & mask));
    }
  }
}

TEST_CASE("reductions over a warp", "[warp]") {
  need_sm_80();
  const auto check = [](auto zero) {
    using T = decltype(zero);
    std::vector<T> values(32);
    for (int lane = 0; lane < 32; ++lane) values[lane] = static_cast<T>(lane * 7919 % 101 - 50);
    const tutorial::DeviceBuffer<T> in(values);
    for (const unsigned mask : kMasks) {
      const auto got = run_kernel<Reduced<T>>(
          32, [&](Reduced<T>* out) { reductions<<<1, 32>>>(mask, in.data(), out); });
      Reduced<T> want{0, 0, 0, kAll, 0, 0};
      bool first = true;
      for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const T value = values[lane];
        want.sum += value;
        want.least = first ? value : std::min(want.least, value);
        want.greatest = first ? value : std::max(want.greatest, value);
        want.both &= static_cast<unsigned>(value);
        want.either |= static_cast<unsigned>(value);
        want.parity ^= static_cast<unsigned>(value);
        first = false;
      }
      for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        CHECK(got[lane].sum == want.sum);
        CHECK(got[lane].least == want.least);
        CHECK(got[lane].greatest == want.greatest);
        CHECK(got[lane].both == want.both);
        CHECK(got[lane].either == want.either);
        CHECK(got[lane].parity == want.parity);
      }
    }
  };
  check(0);
  check(0u);
}

TEST_CASE("__syncwarp orders shared memory within a warp", "[warp]") {
  const auto got = run_kernel<int>(64, [](int* out) { through_shared<<<1, 64>>>(out); });
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32 < 8 ? 7 - t % 32 : t % 32;
    CHECK(got[t] == t / 32 * 32 + (lane + 5) % 32);
  }
}
