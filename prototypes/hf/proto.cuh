#pragma once
#include <cmath>
#include <cstdio>
#include <cstdint>
#include "common/kernel/barrier.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/kernel/wgmma.cuh"
#include "common/kernel/cluster.cuh"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/tensor_cores.hpp"
namespace tutorial::flash_attention::tensor_cores {
constexpr float L2E = 1.44269504f, LN2 = 0.693147181f;
struct Opt {
  int D, BC, WGS, STAGES;
  bool PP = true, OV = true;
  int MODE = 2;      // 0 a block a tile; 1 static stride; 2 tickets; 3 snake
  int EMU = 0;       // every EMU-th exponent by the FMA units
  int SECTION_MB = 32;
  bool DIRECT = false;   // O stored from registers
  bool WAIT1 = false;  // only
  int LAZY = 8;
  bool HIDE = false;
};
template <class X> struct __align__(1024) Shared {
  static constexpr Opt C = X::opt;
  static constexpr int G = (C.D + 63) / 64;
  bf16 Q[C.WGS][G][64 * 64];
  bf16 K[C.STAGES][G][C.BC * 64];
  bf16 V[C.STAGES][G][C.BC * 64];
  Barrier q_full, q_empty, k_full[C.STAGES], k_empty[C.STAGES], v_full[C.STAGES], v_empty[C.STAGES];
  int ticket;
};
struct Work { int tiles, heads, group, section; int mblocks; };
struct At { int head, kv, i0, n; };
template <class X>
__device__ __forceinline__ At place(const Attention& s, const Work& w, int t) {
  static constexpr Opt C = X::opt;
  constexpr int BR = C.WGS * 64;
  At a;
  int per = w.section * w.mblocks;
  int sec = t / per, left = w.heads - sec * w.section;
  if (left > w.section) left = w.section;
  int in = t - sec * per;
  int m;
  if (s.causal) { m = w.mblocks - 1 - in / left; a.head = sec * w.section + in % left; }
  else { a.head = t / w.mblocks; m = w.mblocks - 1 - t % w.mblocks; }
  a.kv = a.head / w.group;
  a.i0 = m * BR;
  int64_t last = a.i0 + BR - 1 < s.Tq ? a.i0 + BR - 1 : s.Tq - 1;
  a.n = (int)((s.visible_keys(last) + C.BC - 1) / C.BC);
  return a;
}
template <int STAGES> struct Ring { int stage = 0, parity = 0; __device__ void next() { if (++stage == STAGES) { stage = 0; parity ^= 1; } } };
static __device__ int tickets;
__device__ __forceinline__ float max_nan(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ __forceinline__ float exp2_fma(float x) {
  x = max_nan(x, -127.0f);
  const float magic = 12582912.0f;
  float t = x + magic;
  float f = x - (t - magic);
  float p = 0.0013333558f;
  p = fmaf(p, f, 0.0096181291f); p = fmaf(p, f, 0.0555041087f); p = fmaf(p, f, 0.2402265070f); p = fmaf(p, f, 0.6931471806f); p = fmaf(p, f, 1.0f);
  return __int_as_float(__float_as_int(p) + (__float_as_int(t) << 23));
}
__device__ __forceinline__ float exp2_fma3(float x) {
  x = max_nan(x, -127.0f);
  const float magic = 12582912.0f;
  float t = x + magic;
  float f = x - (t - magic);
  float p = 0.0558282f;
  p = fmaf(p, f, 0.2402265070f); p = fmaf(p, f, 0.6931471806f); p = fmaf(p, f, 1.0f);
  return __int_as_float(__float_as_int(p) + (__float_as_int(t) << 23));
}

template <class X>
__global__ void __launch_bounds__(X::opt.WGS * 128 + 128, 1)
    kernel(const Attention s, const Work w, const float c, const __grid_constant__ CUtensorMap qm,
           const __grid_constant__ CUtensorMap km, const __grid_constant__ CUtensorMap vm,
           const __grid_constant__ CUtensorMap om, bf16* out, float* lse) {
  static constexpr Opt C = X::opt;
  constexpr int D = C.D, BC = C.BC, G = (D + 63) / 64;
  extern __shared__ unsigned char memory[];
  Shared<X>& sh = aligned_shared<Shared<X>>(memory);
  const int wg = threadIdx.x / 128 - 1;  // -1: producer
  if (threadIdx.x == 0) {
    barrier_init(sh.q_full, 1);
    barrier_init(sh.q_empty, C.WGS);
    for (int i = 0; i < C.STAGES; ++i) {
      barrier_init(sh.k_full[i], 1); barrier_init(sh.v_full[i], 1);
      barrier_init(sh.k_empty[i], C.WGS); barrier_init(sh.v_empty[i], C.WGS);
    }
    barrier_init_fence();
  }
  __syncthreads();
  if (wg < 0) {
    give_registers<C.WGS == 2 ? 24 : C.WGS == 3 ? 32 : 56>();
    if (threadIdx.x < 32 && elect_one()) {
      prefetch_map(qm); prefetch_map(km); prefetch_map(vm); prefetch_map(om);
      Ring<C.STAGES> kr, vr;
      auto load = [&](const CUtensorMap& map, bf16 (*tile)[BC * 64], Barrier& full, int j, int head) {
        barrier_arrive_expect(full, G * BC * 128);
        for (int g = 0; g < G; ++g) tma_load(tile[g], map, full, {g * 64, j * BC, head});
      };
      int round = 0;
      for (int t = blockIdx.x;; ++round) {
        if (C.MODE == 2) t = atomicAdd(&tickets, 1);
        if (C.MODE == 3) t = round * gridDim.x + (round & 1 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
        const bool done = t >= w.tiles;
        if (C.MODE == 3 && t >= w.tiles && round * gridDim.x < w.tiles && 0) continue;
        At a{};
        if (!done) a = place<X>(s, w, t);
        if (!done && a.n > 0) {
          barrier_wait(sh.k_empty[kr.stage], kr.parity ^ 1);
          load(km, sh.K[kr.stage], sh.k_full[kr.stage], a.n - 1, a.kv); kr.next();
        }
        barrier_wait(sh.q_empty, round & 1 ^ 1);
        sh.ticket = done ? -1 : t;
        if (done) { barrier_arrive(sh.q_full); break; }
        barrier_arrive_expect(sh.q_full, C.WGS * G * 64 * 128);
        for (int i = 0; i < C.WGS; ++i)
          for (int g = 0; g < G; ++g) tma_load(sh.Q[i][g], qm, sh.q_full, {g * 64, a.i0 + i * 64, a.head});
        for (int j = a.n - 2; j >= 0; --j) {
          barrier_wait(sh.k_empty[kr.stage], kr.parity ^ 1);
          load(km, sh.K[kr.stage], sh.k_full[kr.stage], j, a.kv); kr.next();
          barrier_wait(sh.v_empty[vr.stage], vr.parity ^ 1);
          load(vm, sh.V[vr.stage], sh.v_full[vr.stage], j + 1, a.kv); vr.next();
        }
        if (a.n > 0) {
          barrier_wait(sh.v_empty[vr.stage], vr.parity ^ 1);
          load(vm, sh.V[vr.stage], sh.v_full[vr.stage], 0, a.kv); vr.next();
        }
        if (C.MODE == 0) t = w.tiles; else t += gridDim.x;
      }
    }
    return;
  }
  take_registers<C.WGS == 2 ? 240 : C.WGS == 3 ? 160 : 256>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, g4 = lane / 4, t4 = lane % 4;
  if (C.PP && wg == C.WGS - 1) named_arrive(2, 256);  // the first turn
  const WgmmaOperand q0_(WgmmaTile{.start = sh.Q[wg][0], .stride = 1024});
  const WgmmaOperand k0_(WgmmaTile{.start = sh.K[0][0], .stride = 1024});
  const WgmmaOperand v0_(WgmmaTile{.start = sh.V[0][0], .leading = BC * 128, .stride = 1024});
  constexpr int STAGE_BYTES = G * BC * 128;
  Ring<C.STAGES> kr, vr;
  auto turn = [&] { if (C.PP) named_sync(2 + wg, 256); };
  auto pass = [&] { if (C.PP) named_arrive(2 + (wg + 1) % C.WGS, 256); };
  float O[D / 2], S[BC / 2];
  uint32_t P[BC / 16][4];
  float m[2], l[2];
  for (int round = 0;; ++round) {
    barrier_wait(sh.q_full, round & 1);
    const int t = sh.ticket;
    if (t < 0) break;
    const At a = place<X>(s, w, t);
    const int i0 = a.i0 + wg * 64 + warp * 16 + g4;
    // from this tile of keys on, some row of the warpgroup does not see all
    const int64_t first = s.visible_keys(a.i0 + wg * 64);
    const int whole = (int)(first / BC);
    const int64_t see0 = s.visible_keys(i0), see1 = s.visible_keys(i0 + 8);
    m[0] = m[1] = -INFINITY; l[0] = l[1] = 0;
    constexpr bool started = true;
#pragma unroll
    for (int n = 0; n < D / 2; ++n) O[n] = 0;
    auto hide = [](WgmmaOperand& x) { if (C.HIDE) asm volatile("" : "+l"(x.bits)); };
    auto keys = [&](int) {
      WgmmaOperand q0 = q0_, k0 = k0_; hide(q0); hide(k0);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < D / 16; ++k)
        wgmma<BC, bf16>(S, q0 + (k / 4 * 64 * 128 + k % 4 * 32), k0 + (kr.stage * STAGE_BYTES + k / 4 * BC * 128 + k % 4 * 32), k > 0);
      wgmma_commit();
    };
    auto values = [&](bool add) {
      WgmmaOperand v0 = v0_; hide(v0);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BC / 16; ++k)
        wgmma<D, bf16, Major::mn>(O, P[k], v0 + (vr.stage * STAGE_BYTES + k * 2048), add || k > 0);
      wgmma_commit();
    };
    float alpha[2];
    bool rise = false;
    auto softmax = [&](int j) {
      if (j >= whole) {
        const int l0 = (int)(see0 - (int64_t)j * BC - 2 * t4 < BC ? see0 - (int64_t)j * BC - 2 * t4 : BC), l1 = (int)(see1 - (int64_t)j * BC - 2 * t4 < BC ? see1 - (int64_t)j * BC - 2 * t4 : BC);
#pragma unroll
        for (int n = 0; n < BC / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            if (n * 8 + e >= l0) S[4 * n + e] = -INFINITY;
            if (n * 8 + e >= l1) S[4 * n + 2 + e] = -INFINITY;
          }
      }
      float nm[2], neg[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        auto mx = [](float a, float b) { return C.EMU ? max_nan(a, b) : fmaxf(a, b); };
        float a = mx(S[2 * h], S[2 * h + 1]);
#pragma unroll
        for (int n = 1; n < BC / 8; ++n) a = mx(a, mx(S[4 * n + 2 * h], S[4 * n + 2 * h + 1]));
        a = mx(a, __shfl_xor_sync(~0u, a, 1));
        a = mx(a, __shfl_xor_sync(~0u, a, 2));
        nm[h] = mx(m[h], a * c);
      }
      rise = __any_sync(~0u, !(nm[0] - m[0] <= C.LAZY) || !(nm[1] - m[1] <= C.LAZY));
      if (rise) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float fin = nm[h] == -INFINITY ? 0.0f : nm[h];
          alpha[h] = exp2_approx(m[h] - fin);
          m[h] = nm[h];
          l[h] *= alpha[h];
        }
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) neg[h] = m[h] == -INFINITY ? 0.0f : C.EMU ? -m[h] + (m[h] - m[h]) : -m[h];
      float sum[2] = {0, 0};
#pragma unroll
      for (int n = 0; n < BC / 2; ++n) {
        const int h = n / 2 % 2;
        const float x = fmaf(S[n], c, neg[h]);
        if constexpr (C.EMU < 0) S[n] = n % -C.EMU == 0 ? exp2_fma3(x) : exp2_approx(x);
        else S[n] = C.EMU && n % (C.EMU ? C.EMU : 1) == 0 ? exp2_fma(x) : exp2_approx(x);
        sum[h] += S[n];
      }
      l[0] += sum[0]; l[1] += sum[1];
    };
    auto weights = [&] {
#pragma unroll
      for (int k = 0; k < BC / 16; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) P[k][e] = pack<bf16>(S[8 * k + 2 * e], S[8 * k + 2 * e + 1]);
    };
    auto rescale = [&] {
      if (rise)
#pragma unroll
        for (int n = 0; n < D / 2; ++n) O[n] *= alpha[n / 2 % 2];
    };
    if (a.n > 0) {
      barrier_wait(sh.k_full[kr.stage], kr.parity);
      turn();
      keys(0);
      if (!C.OV) {
        wgmma_wait<0>(S);
        if (threadIdx.x % 128 == 0) barrier_arrive(sh.k_empty[kr.stage]);
        kr.next();
        for (int j = a.n - 1;; --j) {
          pass();
          softmax(j);
          if (started) rescale();
          weights();
          barrier_wait(sh.v_full[vr.stage], vr.parity);
          if (j > 0) barrier_wait(sh.k_full[kr.stage], kr.parity);
          turn();
          values(started);
          if (j == 0) { wgmma_wait<0>(O); if (threadIdx.x % 128 == 0) barrier_arrive(sh.v_empty[vr.stage]); vr.next(); pass(); break; }
          keys(0);
          wgmma_wait<0>(O, S);
          if (threadIdx.x % 128 == 0) { barrier_arrive(sh.v_empty[vr.stage]); barrier_arrive(sh.k_empty[kr.stage]); }
          vr.next();
          kr.next();
        }
      } else {
        pass();
        wgmma_wait<0>(S);
        if (threadIdx.x % 128 == 0) barrier_arrive(sh.k_empty[kr.stage]);
        kr.next();
        softmax(a.n - 1);
        weights();
        for (int j = a.n - 2; j >= 0; --j) {
          barrier_wait(sh.k_full[kr.stage], kr.parity);
          turn();
          keys(0);
          barrier_wait(sh.v_full[vr.stage], vr.parity);
          values(started);
          pass();
          wgmma_wait<1>(S);
          if (threadIdx.x % 128 == 0) barrier_arrive(sh.k_empty[kr.stage]);
          kr.next();
          softmax(j);
          wgmma_wait<0>(O);
          if (threadIdx.x % 128 == 0) barrier_arrive(sh.v_empty[vr.stage]);
          vr.next();
          weights();
          rescale();
        }
        barrier_wait(sh.v_full[vr.stage], vr.parity);
        values(started);
        wgmma_wait<0>(O);
        if (threadIdx.x % 128 == 0) barrier_arrive(sh.v_empty[vr.stage]);
        vr.next();
      }
    }
    // epilogue
    float inv[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      l[h] += __shfl_xor_sync(~0u, l[h], 1);
      l[h] += __shfl_xor_sync(~0u, l[h], 2);
      inv[h] = l[h] == 0 ? 0.0f : 1 / l[h];
      if (t4 == 0 && i0 + 8 * h < s.Tq) lse[a.head * s.Tq + i0 + 8 * h] = LN2 * m[h] + logf(l[h]);
    }
    if (C.DIRECT) {
      named_sync(8 + wg, 128);
      if (threadIdx.x % 128 == 0) barrier_arrive(sh.q_empty);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int64_t i = i0 + 8 * h;
        if (i < s.Tq)
#pragma unroll
          for (int n = 0; n < D / 8; ++n)
            if (n * 8 < s.HS)
              *(uint32_t*)&out[(a.head * s.Tq + i) * s.HS + n * 8 + 2 * t4] = pack<bf16>(O[4 * n + 2 * h] * inv[h], O[4 * n + 2 * h + 1] * inv[h]);
      }
    } else {
      named_sync(8 + wg, 128);
      const int row = warp * 16 + lane % 16;
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
        const uint32_t x[4] = {pack<bf16>(O[8 * k] * inv[0], O[8 * k + 1] * inv[0]), pack<bf16>(O[8 * k + 2] * inv[1], O[8 * k + 3] * inv[1]),
                               pack<bf16>(O[8 * k + 4] * inv[0], O[8 * k + 5] * inv[0]), pack<bf16>(O[8 * k + 6] * inv[1], O[8 * k + 7] * inv[1])};
        stmatrix(&sh.Q[wg][k / 4][row * 64 + ((k % 4 * 2 + lane / 16) ^ row % 8) * 8], x);
      }
      fence_async_proxy();
      named_sync(8 + wg, 128);
      if (threadIdx.x % 128 == 0) {
        for (int g = 0; g < G; ++g) tma_store(om, sh.Q[wg][g], {g * 64, a.i0 + wg * 64, a.head});
        tma_commit();
        tma_wait_read<0>();
        barrier_arrive(sh.q_empty);
      }
    }
  }
  if (!C.DIRECT && threadIdx.x % 128 == 0) tma_wait<0>();
}

template <class X>
void launch(const Attention& s, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse) {
  static constexpr Opt C = X::opt;
  if (s.rows() * s.HS == 0) return;
  if (s.HS > C.D) throw Error("size");
  if (s.Tk == 0) throw Error("no keys");
  constexpr int BR = C.WGS * 64;
  auto map = [&](const bf16* x, int64_t T, int64_t heads, int rows) {
    return tensor_map(x, {(uint64_t)s.HS, (uint64_t)T, (uint64_t)heads}, {(uint64_t)s.HS, (uint64_t)(T * s.HS)}, {64, (uint32_t)rows, 1});
  };
  Work w;
  w.mblocks = (int)ceil_div(s.Tq, BR);
  w.heads = (int)(s.B * s.NH);
  w.group = (int)s.group();
  w.tiles = w.mblocks * w.heads;
  int64_t fit = ((int64_t)C.SECTION_MB << 20) / (s.Tk * s.HS * 4);
  if (fit < 1) fit = 1;
  int64_t p2 = 1; while (p2 * 2 <= fit) p2 *= 2;
  p2 *= w.group;
  if (p2 > w.heads) p2 = w.heads;
  w.section = (int)p2;
  static const bool once = [] { CUDA_CHECK(cudaFuncSetAttribute(kernel<X>, cudaFuncAttributeMaxDynamicSharedMemorySize, aligned_bytes<Shared<X>>)); return true; }();
  (void)once;
  int grid = C.MODE == 0 ? w.tiles : w.tiles < 132 ? w.tiles : 132;
  if (C.MODE == 2) { static void* p = [] { void* p; CUDA_CHECK(cudaGetSymbolAddress(&p, tickets)); return p; }(); CUDA_CHECK(cudaMemsetAsync(p, 0, 4)); }
  constexpr int BYTES = aligned_bytes<Shared<X>>;
  kernel<X><<<grid, BR * 2 + 128, BYTES>>>(s, w, L2E * (float)(1 / std::sqrt((double)s.HS)), map(q, s.Tq, w.heads, 64), map(k, s.Tk, s.B * s.NH_kv, C.BC), map(v, s.Tk, s.B * s.NH_kv, C.BC), map(out, s.Tq, w.heads, 64), out, lse);
  CUDA_CHECK(cudaGetLastError());
}
}
