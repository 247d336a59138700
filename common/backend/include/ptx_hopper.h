// Instructions of compute capability 9.0 and 9.0a, on a GPU: inline PTX. libcu++'s cuda::ptx has
// C++ names for most of them, but none for wgmma; here all have one form, which the simulator's
// header of the same name has, too (common/simulator/include). Kernels use the words of
// common/kernel/ (barrier.cuh, tma.cuh, wgmma.cuh, warpgroup.cuh, cluster.cuh), which say what each
// does and where it is described.
//
// In code for another architecture these end the kernel: launchers refuse before that.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ptx.h>

#include <cstdint>

// Of 9.0 and later; and of 9.0a alone, whose code runs on no other. (A multicast, too: ptxas warns
// of it in other code.)
#if __CUDA_ARCH__ >= 900
#define PTX_HOPPER(...) asm volatile(__VA_ARGS__)
#else
#define PTX_HOPPER(...) __trap()
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PTX_SM_90A(...) asm volatile(__VA_ARGS__)
#else
#define PTX_SM_90A(...) __trap()
#endif

namespace ptx {

// ---- mbarrier

__device__ inline void mbarrier_init(uint64_t* barrier, uint32_t arrivals) {
  PTX_HOPPER("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
             : "memory");
}
__device__ inline void fence_mbarrier_init() {
  PTX_HOPPER("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void mbarrier_arrive(uint64_t* barrier) {
  PTX_HOPPER("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ inline void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
  PTX_HOPPER(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ inline void mbarrier_arrive_cluster(uint64_t* barrier, uint32_t block) {
  PTX_HOPPER(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(barrier)),
      "r"(block)
      : "memory");
}
/// Sleeps for a while, at most, until the phase of this parity has completed. Has it?
__device__ inline bool mbarrier_try_wait_parity(uint64_t* barrier, uint32_t parity) {
  uint32_t completed = 0;
  PTX_HOPPER(
      "{\n.reg .pred done;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
      "selp.u32 %0, 1, 0, done;\n}"
      : "=r"(completed)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return completed != 0;
}
__device__ inline void mbarrier_wait_parity(uint64_t* barrier, uint32_t parity) {
  while (!mbarrier_try_wait_parity(barrier, parity)) {
  }
}

// ---- Proxies

__device__ inline void fence_proxy_async() {
  PTX_HOPPER("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- TMA

__device__ inline void prefetch_tensor_map(const void* map) {
  PTX_HOPPER("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// A cache policy for the L2: what is read stays longer, or goes first.
__device__ inline uint64_t policy_evict_last() {
  uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}
__device__ inline uint64_t policy_evict_first() {
  uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

// Of each instruction three: for tiles of two, three and four dimensions.
#define PTX_TMA_LOADS(DIMENSIONS, WHERE, COORDINATES, ...)                                       \
  __device__ inline void tma_load(void* to, const void* map, uint64_t* barrier,                  \
                                  const int(&at)[DIMENSIONS]) {                                  \
    PTX_HOPPER("cp.async.bulk.tensor." #DIMENSIONS                                               \
               "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " WHERE         \
               "], [%2];" ::"r"(shared_address(to)),                                             \
               "l"(map), "r"(shared_address(barrier)), "n"(0), "n"(0), COORDINATES               \
               : "memory");                                                                      \
  }                                                                                              \
  __device__ inline void tma_load(void* to, const void* map, uint64_t* barrier,                  \
                                  const int(&at)[DIMENSIONS], uint64_t policy) {                 \
    PTX_HOPPER(                                                                                  \
        "cp.async.bulk.tensor." #DIMENSIONS                                                      \
        "d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, " WHERE \
        "], [%2], %3;" ::"r"(shared_address(to)),                                                \
        "l"(map), "r"(shared_address(barrier)), "l"(policy), "n"(0), COORDINATES                 \
        : "memory");                                                                             \
  }                                                                                              \
  __device__ inline void tma_load_multicast(void* to, const void* map, uint64_t* barrier,        \
                                            const int(&at)[DIMENSIONS], uint16_t blocks) {       \
    PTX_SM_90A("cp.async.bulk.tensor." #DIMENSIONS                                               \
               "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], " \
               "[%1, " WHERE "], [%2], %3;" ::"r"(shared_address(to)),                           \
               "l"(map), "r"(shared_address(barrier)), "h"(blocks), "n"(0), COORDINATES          \
               : "memory");                                                                      \
  }                                                                                              \
  __device__ inline void tma_load_multicast(void* to, const void* map, uint64_t* barrier,        \
                                            const int(&at)[DIMENSIONS], uint16_t blocks,         \
                                            uint64_t policy) {                                   \
    PTX_SM_90A("cp.async.bulk.tensor." #DIMENSIONS                                               \
               "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"        \
               ".L2::cache_hint [%0], [%1, " WHERE "], [%2], %3, %4;" ::"r"(shared_address(to)), \
               "l"(map), "r"(shared_address(barrier)), "h"(blocks), "l"(policy), COORDINATES     \
               : "memory");                                                                      \
  }                                                                                              \
  __device__ inline void tma_store(const void* map, const void* from,                            \
                                   const int(&at)[DIMENSIONS]) {                                 \
    PTX_HOPPER("cp.async.bulk.tensor." #DIMENSIONS "d.global.shared::cta.bulk_group [%0, " WHERE \
               "], [%1];" ::"l"(map),                                                            \
               "r"(shared_address(from)), "n"(0), "n"(0), "n"(0), COORDINATES                    \
               : "memory");                                                                      \
  }
// (The operands "n"(0) keep the coordinates from %5 on in every one.)
#define PTX_COORDINATES(...) __VA_ARGS__
PTX_TMA_LOADS(2, "{%5, %6}", PTX_COORDINATES("r"(at[0]), "r"(at[1])))
PTX_TMA_LOADS(3, "{%5, %6, %7}", PTX_COORDINATES("r"(at[0]), "r"(at[1]), "r"(at[2])))
PTX_TMA_LOADS(4, "{%5, %6, %7, %8}",
              PTX_COORDINATES("r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])))

__device__ inline void tma_commit() {
  PTX_HOPPER("cp.async.bulk.commit_group;" ::: "memory");
}
template <int PENDING>
__device__ inline void tma_wait() {
  PTX_HOPPER("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}
template <int PENDING>
__device__ inline void tma_wait_read() {
  PTX_HOPPER("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// ---- Warps and warpgroups

__device__ inline bool elect_one() {
  uint32_t elected = 0;
  PTX_HOPPER(
      "{\n.reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, elected;\n}"
      : "=r"(elected)::"memory");
  return elected != 0;
}
template <int REGISTERS>
__device__ inline void setmaxnreg_inc() {
  PTX_SM_90A("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ inline void setmaxnreg_dec() {
  PTX_SM_90A("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
__device__ inline void bar_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void bar_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- Clusters

__device__ inline uint32_t cluster_rank() {
  uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
__device__ inline uint32_t cluster_size() {
  uint32_t size = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
#endif
  return size;
}
__device__ inline void cluster_arrive() {
  PTX_HOPPER("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  PTX_HOPPER("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void* cluster_map(void* shared, uint32_t block) {
  void* there = shared;
#if __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(block));
#endif
  return there;
}

// ---- wgmma

__device__ inline void wgmma_fence() {
  PTX_SM_90A("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_commit() {
  PTX_SM_90A("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int PENDING>
__device__ inline void wgmma_wait() {
  PTX_SM_90A("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
__device__ inline uint64_t wgmma_descriptor(const void* start, int leading, int stride,
                                            int swizzle) {
  return uint64_t{shared_address(start) >> 4 & 0x3fff} |
         uint64_t{static_cast<uint32_t>(leading) >> 4} << 16 |
         uint64_t{static_cast<uint32_t>(stride) >> 4} << 32 | static_cast<uint64_t>(swizzle) << 62;
}
/// Keeps the compiler from moving what uses these registers across this line.
template <int COUNT>
__device__ inline void wgmma_use(float (&registers)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// The registers of the sums of m64nNk16: N / 2 a thread, in strings and operands that grow by four.

#define PTX_SUMS_8 "%0, %1, %2, %3"
#define PTX_OPERANDS_8 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define PTX_SUMS_16 PTX_SUMS_8 ", %4, %5, %6, %7"
#define PTX_OPERANDS_16 PTX_OPERANDS_8, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define PTX_SUMS_24 PTX_SUMS_16 ", %8, %9, %10, %11"
#define PTX_OPERANDS_24 PTX_OPERANDS_16, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define PTX_SUMS_32 PTX_SUMS_24 ", %12, %13, %14, %15"
#define PTX_OPERANDS_32 PTX_OPERANDS_24, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define PTX_SUMS_40 PTX_SUMS_32 ", %16, %17, %18, %19"
#define PTX_OPERANDS_40 PTX_OPERANDS_32, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define PTX_SUMS_48 PTX_SUMS_40 ", %20, %21, %22, %23"
#define PTX_OPERANDS_48 PTX_OPERANDS_40, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define PTX_SUMS_56 PTX_SUMS_48 ", %24, %25, %26, %27"
#define PTX_OPERANDS_56 PTX_OPERANDS_48, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define PTX_SUMS_64 PTX_SUMS_56 ", %28, %29, %30, %31"
#define PTX_OPERANDS_64 PTX_OPERANDS_56, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define PTX_SUMS_72 PTX_SUMS_64 ", %32, %33, %34, %35"
#define PTX_OPERANDS_72 PTX_OPERANDS_64, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define PTX_SUMS_80 PTX_SUMS_72 ", %36, %37, %38, %39"
#define PTX_OPERANDS_80 PTX_OPERANDS_72, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define PTX_SUMS_88 PTX_SUMS_80 ", %40, %41, %42, %43"
#define PTX_OPERANDS_88 PTX_OPERANDS_80, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define PTX_SUMS_96 PTX_SUMS_88 ", %44, %45, %46, %47"
#define PTX_OPERANDS_96 PTX_OPERANDS_88, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define PTX_SUMS_104 PTX_SUMS_96 ", %48, %49, %50, %51"
#define PTX_OPERANDS_104 PTX_OPERANDS_96, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define PTX_SUMS_112 PTX_SUMS_104 ", %52, %53, %54, %55"
#define PTX_OPERANDS_112 PTX_OPERANDS_104, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define PTX_SUMS_120 PTX_SUMS_112 ", %56, %57, %58, %59"
#define PTX_OPERANDS_120 PTX_OPERANDS_112, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define PTX_SUMS_128 PTX_SUMS_120 ", %60, %61, %62, %63"
#define PTX_OPERANDS_128 PTX_OPERANDS_120, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define PTX_SUMS_136 PTX_SUMS_128 ", %64, %65, %66, %67"
#define PTX_OPERANDS_136 PTX_OPERANDS_128, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define PTX_SUMS_144 PTX_SUMS_136 ", %68, %69, %70, %71"
#define PTX_OPERANDS_144 PTX_OPERANDS_136, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define PTX_SUMS_152 PTX_SUMS_144 ", %72, %73, %74, %75"
#define PTX_OPERANDS_152 PTX_OPERANDS_144, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define PTX_SUMS_160 PTX_SUMS_152 ", %76, %77, %78, %79"
#define PTX_OPERANDS_160 PTX_OPERANDS_152, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define PTX_SUMS_168 PTX_SUMS_160 ", %80, %81, %82, %83"
#define PTX_OPERANDS_168 PTX_OPERANDS_160, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define PTX_SUMS_176 PTX_SUMS_168 ", %84, %85, %86, %87"
#define PTX_OPERANDS_176 PTX_OPERANDS_168, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define PTX_SUMS_184 PTX_SUMS_176 ", %88, %89, %90, %91"
#define PTX_OPERANDS_184 PTX_OPERANDS_176, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define PTX_SUMS_192 PTX_SUMS_184 ", %92, %93, %94, %95"
#define PTX_OPERANDS_192 PTX_OPERANDS_184, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define PTX_SUMS_200 PTX_SUMS_192 ", %96, %97, %98, %99"
#define PTX_OPERANDS_200 PTX_OPERANDS_192, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define PTX_SUMS_208 PTX_SUMS_200 ", %100, %101, %102, %103"
#define PTX_OPERANDS_208 PTX_OPERANDS_200, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define PTX_SUMS_216 PTX_SUMS_208 ", %104, %105, %106, %107"
#define PTX_OPERANDS_216 PTX_OPERANDS_208, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define PTX_SUMS_224 PTX_SUMS_216 ", %108, %109, %110, %111"
#define PTX_OPERANDS_224 PTX_OPERANDS_216, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define PTX_SUMS_232 PTX_SUMS_224 ", %112, %113, %114, %115"
#define PTX_OPERANDS_232 PTX_OPERANDS_224, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define PTX_SUMS_240 PTX_SUMS_232 ", %116, %117, %118, %119"
#define PTX_OPERANDS_240 PTX_OPERANDS_232, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define PTX_SUMS_248 PTX_SUMS_240 ", %120, %121, %122, %123"
#define PTX_OPERANDS_248 PTX_OPERANDS_240, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define PTX_SUMS_256 PTX_SUMS_248 ", %124, %125, %126, %127"
#define PTX_OPERANDS_256 PTX_OPERANDS_248, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
// Both forms of the instruction for N columns: A by its descriptor, or in registers. What follows N
// are the numbers of the operands after the N / 2 sums.
#define PTX_WGMMA_OF(N, O0, O1, O2, O3, O4, O5, O6)               \
  PTX_WGMMA(N, __nv_bfloat16, "bf16", O0, O1, O2, O3, O4, O5, O6) \
  PTX_WGMMA(N, __half, "f16", O0, O1, O2, O3, O4, O5, O6)
#define PTX_WGMMA(N, T, NAME, O0, O1, O2, O3, O4, O5, O6)                                        \
  template <int TRANS_A, int TRANS_B>                                                            \
  __device__ inline void wgmma_m64k16(float(&d)[N / 2], uint64_t a, uint64_t b, int add, T) {    \
    PTX_SM_90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O2                                          \
               ", 0;\n"                                                                          \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME " {" PTX_SUMS_##N \
               "}, %" #O0 ", %" #O1 ", p, 1, 1, %" #O3 ", %" #O4 ";\n}"                          \
               : PTX_OPERANDS_##N                                                                \
               : "l"(a), "l"(b), "r"(add), "n"(TRANS_A), "n"(TRANS_B));                          \
  }                                                                                              \
  template <int TRANS_B>                                                                         \
  __device__ inline void wgmma_m64k16(float(&d)[N / 2], const uint32_t(&a)[4], uint64_t b,       \
                                      int add, T) {                                              \
    PTX_SM_90A("{\n.reg .pred p;\nsetp.ne.b32 p, %" #O5                                          \
               ", 0;\n"                                                                          \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME " {" PTX_SUMS_##N \
               "}, {%" #O0 ", %" #O1 ", %" #O2 ", %" #O3 "}, %" #O4 ", p, 1, 1, %" #O6 ";\n}"    \
               : PTX_OPERANDS_##N                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TRANS_B));    \
  }
PTX_WGMMA_OF(8, 4, 5, 6, 7, 8, 9, 10)
PTX_WGMMA_OF(16, 8, 9, 10, 11, 12, 13, 14)
PTX_WGMMA_OF(24, 12, 13, 14, 15, 16, 17, 18)
PTX_WGMMA_OF(32, 16, 17, 18, 19, 20, 21, 22)
PTX_WGMMA_OF(40, 20, 21, 22, 23, 24, 25, 26)
PTX_WGMMA_OF(48, 24, 25, 26, 27, 28, 29, 30)
PTX_WGMMA_OF(56, 28, 29, 30, 31, 32, 33, 34)
PTX_WGMMA_OF(64, 32, 33, 34, 35, 36, 37, 38)
PTX_WGMMA_OF(72, 36, 37, 38, 39, 40, 41, 42)
PTX_WGMMA_OF(80, 40, 41, 42, 43, 44, 45, 46)
PTX_WGMMA_OF(88, 44, 45, 46, 47, 48, 49, 50)
PTX_WGMMA_OF(96, 48, 49, 50, 51, 52, 53, 54)
PTX_WGMMA_OF(104, 52, 53, 54, 55, 56, 57, 58)
PTX_WGMMA_OF(112, 56, 57, 58, 59, 60, 61, 62)
PTX_WGMMA_OF(120, 60, 61, 62, 63, 64, 65, 66)
PTX_WGMMA_OF(128, 64, 65, 66, 67, 68, 69, 70)
PTX_WGMMA_OF(136, 68, 69, 70, 71, 72, 73, 74)
PTX_WGMMA_OF(144, 72, 73, 74, 75, 76, 77, 78)
PTX_WGMMA_OF(152, 76, 77, 78, 79, 80, 81, 82)
PTX_WGMMA_OF(160, 80, 81, 82, 83, 84, 85, 86)
PTX_WGMMA_OF(168, 84, 85, 86, 87, 88, 89, 90)
PTX_WGMMA_OF(176, 88, 89, 90, 91, 92, 93, 94)
PTX_WGMMA_OF(184, 92, 93, 94, 95, 96, 97, 98)
PTX_WGMMA_OF(192, 96, 97, 98, 99, 100, 101, 102)
PTX_WGMMA_OF(200, 100, 101, 102, 103, 104, 105, 106)
PTX_WGMMA_OF(208, 104, 105, 106, 107, 108, 109, 110)
PTX_WGMMA_OF(216, 108, 109, 110, 111, 112, 113, 114)
PTX_WGMMA_OF(224, 112, 113, 114, 115, 116, 117, 118)
PTX_WGMMA_OF(232, 116, 117, 118, 119, 120, 121, 122)
PTX_WGMMA_OF(240, 120, 121, 122, 123, 124, 125, 126)
PTX_WGMMA_OF(248, 124, 125, 126, 127, 128, 129, 130)
PTX_WGMMA_OF(256, 128, 129, 130, 131, 132, 133, 134)
}  // namespace ptx
