// Inline PTX of memory and of warps against plain C++.
#include <catch2/catch_test_macros.hpp>

#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

constexpr int kThreads = 64;

// ---- Memory

__global__ void memory(const float4* in, float4* out, unsigned* counts) {
  __shared__ float4 tile[kThreads];
  const unsigned t = threadIdx.x, at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[t]));
  float4 x;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(in + t));
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x.x), "f"(x.y) : "memory");
  asm volatile("st.shared.f32 [%0+8], %1;" ::"r"(at), "f"(x.z) : "memory");
  asm volatile("st.shared.f32 [%0 + 12], %1;" : : "r"(at), "f"(x.w) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  const unsigned other = t ^ 33;
  unsigned behind;  // the way from a pointer that libraries write out
  asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
      : "=r"(behind)
      : "l"(&tile[other]));
  float first, second, third, fourth, kept;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(first) : "r"(behind) : "memory");
  asm volatile("ld.shared.f32 %0, [%1+4];" : "=f"(second) : "r"(behind) : "memory");
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2 + 8];" : "=f"(third), "=f"(fourth) : "r"(behind));
  asm volatile(
      "{\n\t.reg .pred p;  // the others get -1\n\tsetp.lt.u32 p, %1, 32;\n\t"
      "@p ld.global.cg.f32 %0, [%2];\n\t@!p mov.f32 %0, 0fbf800000;\n}\n"
      : "=f"(kept)
      : "r"(t), "l"(&in[other].x));
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + t), "f"(first), "f"(second),
               "f"(1000 * third + fourth), "f"(kept)
               : "memory");
  unsigned before;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(counts), "r"(2) : "memory");
  asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(counts + 1), "r"(before));
  asm volatile("membar.gl; prefetch.global.L2 [%0];" ::"l"(in));
}

#ifdef HAS_SM_80
/// Sixteen bytes, of which the last ones are zeros, and four.
__global__ void copies(const uint4* in, uint4* out) {
  __shared__ uint4 tile[kThreads];
  const unsigned t = threadIdx.x, at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[t]));
  const unsigned inside = 4 * (t % 5);
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(at), "l"(in + t),
               "r"(inside));
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\n" ::"r"(at), "l"(&in[t].y), "n"(4));
  asm volatile("cp.async.wait_all;");
  out[t] = tile[t];
}
#else
__global__ void copies(const uint4*, uint4*) {}
#endif

// ---- Warps

constexpr int kWarp = 12;

__global__ void warps(const unsigned* in, unsigned* out) {
  const unsigned x = in[threadIdx.x];
  unsigned* to = out + kWarp * threadIdx.x;
  asm("mov.u32 %0, %%laneid;" : "=r"(to[0]));
  asm("mov.u32 %0, %tid.x;" : "=r"(to[1]));
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(to[2]));
  asm volatile("shfl.sync.idx.b32 %0, %1, 3, 0x1f, 0xffffffff;" : "=r"(to[3]) : "r"(x));
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, -1;" : "=r"(to[4]) : "r"(x), "n"(1));
  asm volatile("shfl.sync.down.b32 %0, %1, 2, %2, -1;" : "=r"(to[5]) : "r"(x), "r"(16 << 8 | 31));
  asm volatile("shfl.sync.bfly.b32 %0, %1, 9, 31, -1;" : "=r"(to[6]) : "r"(x));
  asm volatile(
      "{ .reg .pred odd; .reg .b32 low; and.b32 low, %1, 1; setp.ne.u32 odd, low, 0;"
      " vote.sync.ballot.b32 %0, odd, 0xffffffff; }"
      : "=r"(to[7])
      : "r"(x));
  asm volatile("bar.warp.sync 0xffffffff;");
  asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / 32), "n"(32));
  asm volatile("bar.sync 3;");
  asm("mov.u32 %0, %%ntid.x;" : "=r"(to[8]));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(to[9]));
  long long begin, end;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(begin));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(end));
  to[10] = begin <= end;
  to[11] = 0;
#ifdef HAS_SM_80
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(to[11]) : "r"(x));
#endif
}

}  // namespace

TEST_CASE("inline PTX: memory", "[ptx]") {
  std::vector<float4> numbers(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    const float x = static_cast<float>(4 * i);
    numbers[i] = {x, x + 1, x + 2, x + 3};
  }
  const DeviceBuffer<float4> in(numbers);
  DeviceBuffer<unsigned> counts(std::vector<unsigned>(2));
  const auto out = run_kernel<float4>(
      kThreads, [&](float4* to) { memory<<<1, kThreads>>>(in.data(), to, counts.data()); });
  for (size_t t = 0; t < kThreads; ++t) {
    CAPTURE(t);
    const float4& other = numbers[t ^ 33];
    CHECK(out[t].x == other.x);
    CHECK(out[t].y == other.y);
    CHECK(out[t].z == 1000 * other.z + other.w);
    CHECK(out[t].w == (t < 32 ? other.x : -1));
  }
  CHECK(counts.to_host() == std::vector<unsigned>{2 * kThreads, 2 * kThreads - 2});
}

TEST_CASE("inline PTX: asynchronous copies", "[ptx]") {
  need_sm_80();
  const std::vector<unsigned> bits = random_bits(4 * kThreads);
  const DeviceBuffer<unsigned> in(bits);
  const auto out = run_kernel<unsigned>(4 * kThreads, [&](unsigned* to) {
    copies<<<1, kThreads>>>(reinterpret_cast<const uint4*>(in.data()),
                            reinterpret_cast<uint4*>(to));
  });
  for (size_t i = 0; i < 4 * kThreads; ++i) {
    CAPTURE(i);
    CHECK(out[i] == (i % 4 == 0 ? bits[i + 1] : i % 4 < i / 4 % 5 ? bits[i] : 0));
  }
}

TEST_CASE("inline PTX: warps", "[ptx]") {
  const std::vector<unsigned> bits = random_bits(kThreads);
  const DeviceBuffer<unsigned> in(bits);
  const auto out = run_kernel<unsigned>(
      kWarp * kThreads, [&](unsigned* to) { warps<<<1, kThreads>>>(in.data(), to); });
  for (unsigned t = 0; t < kThreads; ++t) {
    const unsigned lane = t % 32, first = t - lane;
    unsigned odd = 0, sum = 0;
    for (unsigned i = 0; i < 32; ++i) odd |= (bits[first + i] & 1) << i, sum += bits[first + i];
    const unsigned* of = &out[kWarp * t];
    CAPTURE(t);
    CHECK(of[0] == lane);
    CHECK(of[1] == t);
    CHECK(of[2] == (lane == 31 ? 0xffffffff : (2u << lane) - 1));
    CHECK(of[3] == bits[first + 3]);
    CHECK(of[4] == bits[lane == 0 ? t : t - 1]);
    CHECK(of[5] == bits[lane % 16 < 14 ? t + 2 : t]);
    CHECK(of[6] == bits[t ^ 9]);
    CHECK(of[7] == odd);
    CHECK(of[8] == kThreads);
    CHECK(of[9] == out[9]);
    CHECK(of[10] == 1);
    CHECK((of[11] == sum || of[11] == 0));
  }
}
