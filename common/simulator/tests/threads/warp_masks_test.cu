// Operations of a warp among some of its lanes, with every width; matches; __activemask.
#include <algorithm>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr unsigned kMasks[] = {kAll, 0x1u, 0x80000000u, 0xffu, 0xaaaaaaaau, 0x00f0f00fu};

// ---- Shuffles

constexpr int kArguments = 32, kKinds = 4;

/// The lane that lane `lane` reads: as the programming guide says it.
__host__ __device__ int source_of(int kind, int lane, int argument, int width) {
  const int first = lane / width * width, end = first + width;
  if (kind == 0) return first + argument % width;
  const int source = kind == 1 ? lane - argument : kind == 2 ? lane + argument : lane ^ argument;
  if (kind == 1) return source < first ? lane : source;
  return source >= end ? lane : source;
}

/// out[kind][argument][lane]. Lanes outside the mask do something else meanwhile. A lane whose
/// source takes no part, so that its value would be undefined, reads itself.
template <class T>
__global__ void masked_shuffles(unsigned mask, int width, T* out) {
  const int lane = threadIdx.x;
  const T mine = static_cast<T>(lane * 10 + 1);
  if (mask >> lane & 1) {
    for (int a = 0; a < kArguments; ++a) {
      T* const row = out + a * 32 + lane;
      const auto argument = [&](int kind, int own) {
        return mask >> source_of(kind, lane, a, width) & 1 ? a : own;
      };
      row[0 * kArguments * 32] = __shfl_sync(mask, mine, argument(0, lane % width), width);
      row[1 * kArguments * 32] = __shfl_up_sync(mask, mine, argument(1, 0), width);
      row[2 * kArguments * 32] = __shfl_down_sync(mask, mine, argument(2, 0), width);
      row[3 * kArguments * 32] = __shfl_xor_sync(mask, mine, argument(3, 0), width);
    }
  } else {
    for (int i = 0; i < kKinds * kArguments; ++i) out[i * 32 + lane] = T(0);
  }
}

template <class T>
void check_masked_shuffles() {
  for (unsigned mask : kMasks)
    for (int width = 1; width <= 32; width *= 2) {
      const auto got = run_kernel<T>(kKinds * kArguments * 32,
                                     [&](T* out) { masked_shuffles<<<1, 32>>>(mask, width, out); });
      int wrong = 0;
      for (int kind = 0; kind < kKinds; ++kind)
        for (int a = 0; a < kArguments; ++a)
          for (int lane = 0; lane < 32; ++lane) {
            const int source = source_of(kind, lane, a, width);
            if (!(mask >> lane & 1) || !(mask >> source & 1)) continue;
            wrong += got[(kind * kArguments + a) * 32 + lane] != static_cast<T>(source * 10 + 1);
          }
      CAPTURE(mask, width);
      CHECK(wrong == 0);
    }
}

/// Smaller types than int are promoted.
__global__ void shuffles_of_small_types(int* out) {
#ifdef HAS_SM_80
  const int lane = threadIdx.x;
  const short small = static_cast<short>(-lane);
  const unsigned char byte = static_cast<unsigned char>(250 + lane % 6);
  const bool odd = lane % 2 == 1;
  out[lane] = __shfl_xor_sync(kAll, small, 1);
  out[32 + lane] = __shfl_sync(kAll, byte, 5);
  out[64 + lane] = __shfl_down_sync(kAll, odd, 1);
  out[96 + lane] = __shfl_up_sync(kAll, 'a', 1) + __reduce_add_sync(kAll, small);
#endif
}

// ---- Matches

template <class T>
struct Matched {
  unsigned any, all;
  int is_all;
};
template <class T>
__global__ void matches(unsigned mask, const T* values, Matched<T>* out) {
  const int lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  out[lane].any = __match_any_sync(mask, values[lane]);
  out[lane].is_all = -7;
  out[lane].all = __match_all_sync(mask, values[lane], &out[lane].is_all);
}

template <class T>
void check_matches() {
  for (int different : {1, 2, 5, 32})
    for (unsigned mask : kMasks) {
      CAPTURE(different, mask, sizeof(T));
      std::vector<T> values(32);
      for (int lane = 0; lane < 32; ++lane)
        values[lane] = static_cast<T>(lane % different) * static_cast<T>(1 << 20) - T(3);
      const tutorial::DeviceBuffer<T> in(values);
      const auto got = run_kernel<Matched<T>>(
          32, [&](Matched<T>* out) { matches<<<1, 32>>>(mask, in.data(), out); });
      for (int lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        unsigned same = 0;
        for (int other = 0; other < 32; ++other)
          if ((mask >> other & 1) && values[other] == values[lane]) same |= 1u << other;
        CHECK(got[lane].any == same);
        CHECK(got[lane].all == (same == mask ? mask : 0));
        CHECK((got[lane].is_all != 0) == (same == mask));
      }
    }
}

// ---- Which lanes are here

/// CUDA promises only that the caller is in it, and a lane that is not in the block cannot be.
__global__ void active(unsigned* out) {
  out[threadIdx.x] = __activemask();
}

/// One lane of those that happen to be together adds for all: right however they are grouped.
__device__ int add_together(int* counter) {
  const unsigned here = __activemask();
  const int lane = threadIdx.x % 32, leader = __ffs(here) - 1;
  int first = 0;
  if (lane == leader) first = atomicAdd(counter, __popc(here));
  return __shfl_sync(here, first, leader) + __popc(here & ((1u << lane) - 1));
}
__global__ void keep_odd(const int* in, int n, int* counter, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 2 == 1) out[add_together(counter)] = in[i];
}

/// The same with the lanes named by a vote.
__global__ void keep_odd_by_vote(const int* in, int n, int* counter, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const bool keep = i < n && in[i] % 2 == 1;
  const unsigned kept = __ballot_sync(kAll, keep);
  int first = 0;
  if (lane == 0) first = atomicAdd(counter, __popc(kept));
  first = __shfl_sync(kAll, first, 0);
  if (keep) out[first + __popc(kept & ((1u << lane) - 1))] = in[i];
}

}  // namespace

TEST_CASE("shuffles among some lanes, of every kind and width", "[warp]") {
  check_masked_shuffles<int>();
  check_masked_shuffles<float>();
  check_masked_shuffles<double>();
  check_masked_shuffles<unsigned long long>();
}

TEST_CASE("shuffles of types smaller than int", "[warp]") {
  need_sm_80();
  const auto got = run_kernel<int>(128, [](int* out) { shuffles_of_small_types<<<1, 32>>>(out); });
  for (int lane = 0; lane < 32; ++lane) {
    CHECK(got[lane] == -(lane ^ 1));
    CHECK(got[32 + lane] == 255);
    CHECK(got[64 + lane] == (lane == 31 ? 1 : (lane + 1) % 2));
    CHECK(got[96 + lane] == 'a' - 31 * 16);
  }
}

TEST_CASE("__match_any_sync and __match_all_sync of every type", "[warp]") {
  check_matches<int>();
  check_matches<unsigned>();
  check_matches<long>();
  check_matches<unsigned long>();
  check_matches<long long>();
  check_matches<unsigned long long>();
  check_matches<float>();
  check_matches<double>();
}

TEST_CASE("__activemask", "[warp]") {
  const auto got = run_kernel<unsigned>(24, [](unsigned* out) { active<<<1, 24>>>(out); });
  for (int lane = 0; lane < 24; ++lane) {
    CHECK((got[lane] >> lane & 1) == 1);
    CHECK(got[lane] >> 24 == 0);
  }
}

TEST_CASE("a filter whose warps add together", "[warp]") {
  for (int n : {1, 31, 1000}) {
    std::vector<int> values(n), want;
    for (int i = 0; i < n; ++i) values[i] = i * 7919 % 1013;
    std::copy_if(values.begin(), values.end(), std::back_inserter(want),
                 [](int value) { return value % 2 == 1; });
    std::sort(want.begin(), want.end());
    const tutorial::DeviceBuffer<int> in(values);
    for (bool by_vote : {false, true}) {
      CAPTURE(n, by_vote);
      tutorial::DeviceBuffer<int> counter(std::vector<int>{0});
      auto got = run_kernel<int>(n, [&](int* out) {
        if (by_vote)
          keep_odd_by_vote<<<(n + 95) / 96, 96>>>(in.data(), n, counter.data(), out);
        else
          keep_odd<<<(n + 95) / 96, 96>>>(in.data(), n, counter.data(), out);
      });
      REQUIRE(counter.to_host()[0] == static_cast<int>(want.size()));
      got.resize(want.size());
      std::sort(got.begin(), got.end());
      CHECK(got == want);
    }
  }
}
