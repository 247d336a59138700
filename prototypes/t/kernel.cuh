#pragma once
#include <cuda_runtime.h>
#include <cuda_pipeline.h>
#include <cstdint>
#include <type_traits>
#include "ptx.h"
enum Split { CVT2, CVT1, INT1, TRUNC };
struct Base {
  static constexpr int NPROD = 3, BK = 16, STAGES = 3, MINB = 1, PROMOTE = 0;  // PROMOTE: in k8 steps
  static constexpr Split SPLIT = CVT1;
  static constexpr bool DEAL = true, LDM = true, AHEAD = true;
  static constexpr int LATE = 0;  // 1: split of the next before the last pass
  static constexpr int GROUP = 0, GN = 4;  // GN: n-tiles in a group of PROMOTE 1 and 3
  static constexpr bool LAZY = false, ZEROC = false, ROWS = false, LATEADD = false, PLAINORDER = false;
  static constexpr int FULL = 0;  // FULL: promote a whole tile of sums every FULL k8 steps
};
template <class P> constexpr int SMEM = P::STAGES * (P::BM * (P::BK + 4) + P::BK * (P::BN + 8)) * 4;

template <Split S> __device__ inline void split(float x, uint32_t& hi, uint32_t& lo) {
  if constexpr (S == CVT2) { hi = ptx::to_tf32(x); lo = ptx::to_tf32(x - __uint_as_float(hi)); }
  if constexpr (S == CVT1) { hi = ptx::to_tf32(x); lo = __float_as_uint(x - __uint_as_float(hi)); }
  if constexpr (S == INT1) { hi = (__float_as_uint(x) + 0x1000u) & 0xffffe000u; lo = __float_as_uint(x - __uint_as_float(hi)); }
  if constexpr (S == TRUNC) { hi = __float_as_uint(x); lo = __float_as_uint(x - __uint_as_float(hi & 0xffffe000u)); }
}
template <int N> __device__ inline void cp(float* to, const float* from, bool in) { __pipeline_memcpy_async(to, from, 4 * N, in ? 0 : 4 * N); }
__device__ inline int64_t mn(int64_t a, int64_t b) { return a < b ? a : b; }

template <class P, int W>
struct Copies {
  static constexpr int T = P::THREADS, AC = P::BK / W, AR = T / AC, A_N = P::BM / AR;      // A: AC columns of copies, AR rows apart
  static constexpr int BC0 = P::BN / W, BC = BC0 < T ? BC0 : T, B_COLS = BC0 / BC, BR = T / BC, B_N = P::BK / BR;
  const float *a[A_N], *b[B_COLS];
  int64_t ldb; int ak, bk; float *ta, *tb;
  static constexpr int STAGE_A = P::BM * (P::BK + 4), STAGE_B = P::BK * (P::BN + 8);
  __device__ Copies(const float* A, const float* B, int64_t M, int64_t N, int64_t K, int64_t row0, int64_t col0, float* As, float* Bs) : ldb(N) {
    int r = threadIdx.x / AC, c = threadIdx.x % BC * W;
    ak = threadIdx.x % AC * W, bk = threadIdx.x / BC;
#pragma unroll
    for (int i = 0; i < A_N; ++i) a[i] = A + mn(row0 + r + i * AR, M - 1) * K + ak;
#pragma unroll
    for (int j = 0; j < B_COLS; ++j) b[j] = B + bk * ldb + mn(col0 + c + j * BC * W, N - W);
    ta = As + r * (P::BK + 4) + ak; tb = Bs + bk * (P::BN + 8) + c;
  }
  __device__ void begin(int stage, int depth = P::BK) {
#pragma unroll
    for (int i = 0; i < A_N; ++i) { cp<W>(ta + stage * STAGE_A + i * AR * (P::BK + 4), a[i], depth == P::BK || ak < depth); a[i] += depth; }
#pragma unroll
    for (int k = 0; k < B_N; ++k)
#pragma unroll
      for (int j = 0; j < B_COLS; ++j)
        cp<W>(tb + stage * STAGE_B + k * BR * (P::BN + 8) + j * BC * W, b[j] + k * BR * ldb, depth == P::BK || bk + k * BR < depth);
#pragma unroll
    for (int j = 0; j < B_COLS; ++j) b[j] += depth * ldb;
  }
};

template <class P, int W>
__global__ void __launch_bounds__(P::THREADS, P::MINB) kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  constexpr int BM = P::BM, BN = P::BN, BK = P::BK, WM = P::WM, WN = P::WN, ST = P::STAGES;
  constexpr int TM = WM / 16, TN = WN / 8, KS = BK / 8;
  constexpr int LA = BK + 4, LB = BN + 8;
  extern __shared__ __align__(16) float sh[];
  float* As = sh; float* Bs = sh + ST * BM * LA;
  const int64_t across = (N + BN - 1) / BN, down = (M + BM - 1) / BM;
  int64_t bx, by;
  if constexpr (P::GROUP == 0) { by = blockIdx.x / across; bx = blockIdx.x % across; }
  else { int64_t per = P::GROUP * across, gr = blockIdx.x / per, first = gr * P::GROUP, h = mn(P::GROUP, down - first), in = blockIdx.x % per; by = first + in % h; bx = in / h; }
  const int64_t row0 = by * BM, col0 = bx * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  constexpr int WARPS_N = BN / WN;
  const int m = warp / WARPS_N * WM, n = warp % WARPS_N * WN;
  Copies<P, W> copies(A, B, M, N, K, row0, col0, As, Bs);
  const int64_t tiles = (K + BK - 1) / BK;
  const int depth0 = (int)(K - (tiles - 1) * BK);
#pragma unroll
  for (int s = 0; s < ST - 1; ++s) { if (s < tiles) { if (s == 0) copies.begin(0, depth0); else copies.begin(s); } __pipeline_commit(); }
  float acc[TM][TN][4] = {};
  uint32_t ra[TM][4]; float rb[TN][2];
  uint32_t ah[TM][4], al[TM][4], bh[TN][2], bl[TN][2];
  const float* la = As + (m + lane % 16) * LA + lane / 16 * 4;  // ldmatrix
  const float* lb = P::DEAL ? Bs + t * LB + n + 4 * g : Bs + t * LB + n + g;
  auto read = [&](int stage, int k8) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if constexpr (P::LDM) ptx::ldmatrix(ra[i], la + stage * BM * LA + i * 16 * LA + k8 * 8);
      else {
        const float* p = As + stage * BM * LA + (m + i * 16 + g) * LA + k8 * 8 + t;
        ra[i][0] = __float_as_uint(p[0]); ra[i][1] = __float_as_uint(p[8 * LA]); ra[i][2] = __float_as_uint(p[4]); ra[i][3] = __float_as_uint(p[8 * LA + 4]);
      }
    }
    const float* p = lb + (stage * BK + k8 * 8) * LB;
    if constexpr (P::DEAL) {
#pragma unroll
      for (int j = 0; j < TN; j += 4)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float4 f = *(const float4*)(p + h * 4 * LB + j * 8);
          rb[j][h] = f.x, rb[j + 1][h] = f.y, rb[j + 2][h] = f.z, rb[j + 3][h] = f.w;
        }
    } else {
#pragma unroll
      for (int j = 0; j < TN; ++j) { rb[j][0] = p[j * 8]; rb[j][1] = p[4 * LB + j * 8]; }
    }
  };
  auto splits = [&] {
#pragma unroll
    for (int j = 0; j < TN; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) split<P::SPLIT>(rb[j][h], bh[j][h], bl[j][h]);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int h = 0; h < 4; ++h) split<P::SPLIT>(__uint_as_float(ra[i][h]), ah[i][h], al[i][h]);
  };
  auto rounds = [&] {
#pragma unroll
    for (int j = 0; j < TN; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) bh[j][h] = ptx::to_tf32(rb[j][h]);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int h = 0; h < 4; ++h) ah[i][h] = ptx::to_tf32(__uint_as_float(ra[i][h]));
  };
  auto pass = [&](auto& x, auto& y) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int jj = 0; jj < TN; ++jj) {
        const int j = i % 2 ? TN - 1 - jj : jj;
        ptx::mma_m16n8k8_tf32(acc[i][j], x[i], y[j][0], y[j][1]);
      }
  };
  auto promoted = [&] {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      float tmp[TN][4] = {};
#pragma unroll
      for (int j = 0; j < TN; ++j) ptx::mma_m16n8k8_tf32(tmp[j], al[i], bh[j][0], bh[j][1]);
#pragma unroll
      for (int j = 0; j < TN; ++j) ptx::mma_m16n8k8_tf32(tmp[j], ah[i], bl[j][0], bl[j][1]);
#pragma unroll
      for (int j = 0; j < TN; ++j) ptx::mma_m16n8k8_tf32(tmp[j], ah[i], bh[j][0], bh[j][1]);
#pragma unroll
      for (int j = 0; j < TN; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[i][j][e] += tmp[j][e];
    }
  };
  constexpr int GN = P::GN < TN ? P::GN : TN;
  auto split_b = [&] {
#pragma unroll
    for (int j = 0; j < TN; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) split<P::SPLIT>(rb[j][h], bh[j][h], bl[j][h]);
  };
  auto read_b = [&](int stage, int k8) {
    const float* p = lb + (stage * BK + k8 * 8) * LB;
#pragma unroll
    for (int j = 0; j < TN; j += 4)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float4 f = *(const float4*)(p + h * 4 * LB + j * 8);
        rb[j][h] = f.x, rb[j + 1][h] = f.y, rb[j + 2][h] = f.z, rb[j + 3][h] = f.w;
      }
  };
  auto read_a = [&](int i, int stage, int k8) { ptx::ldmatrix(ra[i], la + stage * BM * LA + i * 16 * LA + k8 * 8); };
  auto ringed = [&](bool next, int stage, int k8) {
    split_b();
    if (next) read_b(stage, k8);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      uint32_t h4[4], l4[4];
#pragma unroll
      for (int h = 0; h < 4; ++h) split<P::SPLIT>(__uint_as_float(ra[i][h]), h4[h], l4[h]);
      if (next) read_a(i, stage, k8);
#pragma unroll
      for (int j0 = 0; j0 < TN; j0 += GN) {
        float tmp[GN][4] = {};
#pragma unroll
        for (int j = 0; j < GN; ++j) ptx::mma_m16n8k8_tf32(tmp[j], l4, bh[j0 + j][0], bh[j0 + j][1]);
#pragma unroll
        for (int j = 0; j < GN; ++j) ptx::mma_m16n8k8_tf32(tmp[j], h4, bl[j0 + j][0], bl[j0 + j][1]);
#pragma unroll
        for (int j = 0; j < GN; ++j) ptx::mma_m16n8k8_tf32(tmp[j], h4, bh[j0 + j][0], bh[j0 + j][1]);
#pragma unroll
        for (int j = 0; j < GN; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) acc[i][j0 + j][e] += tmp[j][e];
      }
    }
  };
  if (tiles > 0) {
    float part[P::FULL ? TM : 1][P::FULL ? TN : 1][4];
    if constexpr (P::FULL > 0) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) part[i][j][e] = 0;
    }
    auto zero_mma = [&](float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
    };
    auto passl = [&](auto& x, auto& y, bool add) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int jj = 0; jj < TN; ++jj) {
          const int j = i % 2 ? TN - 1 - jj : jj;
          if constexpr (P::FULL > 0) {
            if (add)
#pragma unroll
              for (int e = 0; e < 4; ++e) acc[i][j][e] += part[i][j][e];
            if constexpr (P::ZEROC) zero_mma(part[i][j], x[i], y[j][0], y[j][1]);
            else { part[i][j][0] = part[i][j][1] = part[i][j][2] = part[i][j][3] = 0; ptx::mma_m16n8k8_tf32(part[i][j], x[i], y[j][0], y[j][1]); }
          }
        }
    };
    auto passp = [&](auto& x, auto& y) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int jj = 0; jj < TN; ++jj) {
          const int j = i % 2 && !P::PLAINORDER ? TN - 1 - jj : jj; (void)j;
          if constexpr (P::FULL > 0) ptx::mma_m16n8k8_tf32(part[i][j], x[i], y[j][0], y[j][1]);
        }
    };
    auto addup = [&] {
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) if constexpr (P::FULL > 0) { acc[i][j][e] += part[i][j][e]; part[i][j][e] = 0; }
    };
    if constexpr (P::AHEAD) {
      __pipeline_wait_prior(ST - 2); __syncthreads();
      read(0, 0);
      if constexpr (P::LATE && P::NPROD == 3) splits();
    }
    int stage = 0, to = ST - 1;
    auto tile_products = [&](int64_t tile, auto more) {
      constexpr bool MORE = decltype(more)::value; (void)MORE;
      if constexpr (!P::AHEAD) { __pipeline_wait_prior(ST - 2); __syncthreads(); }
#pragma unroll
      for (int k8 = 0; k8 < KS; ++k8) {
        if constexpr (!P::AHEAD) {
          if (k8 == 0 ) { if (tile + ST - 1 < tiles) copies.begin(to); __pipeline_commit(); }
          read(stage, k8);
          if constexpr (P::NPROD == 3) { splits(); if constexpr (P::PROMOTE) promoted(); else if constexpr (P::FULL > 0) { passp(al, bh); passp(ah, bl); passp(ah, bh); if ((k8 + 1) % P::FULL == 0) addup(); } else { pass(al, bh); pass(ah, bl); pass(ah, bh); } }
          else { rounds(); pass(ah, bh); }
        } else {
          if constexpr (P::ROWS) {
            if (k8 == KS - 1 && MORE) { __pipeline_wait_prior(ST - 2); __syncthreads(); stage = stage + 1 == ST ? 0 : stage + 1; }
            if (k8 == 0) { if (tile + ST - 1 < tiles) copies.begin(to); to = to + 1 == ST ? 0 : to + 1; __pipeline_commit(); }
            split_b();
            const bool next = k8 < KS - 1 || MORE;
            if (next) read_b(stage, (k8 + 1) % KS);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
              uint32_t h4[4], l4[4];
#pragma unroll
              for (int h = 0; h < 4; ++h) split<P::SPLIT>(__uint_as_float(ra[i][h]), h4[h], l4[h]);
              if (next) read_a(i, stage, (k8 + 1) % KS);
              if constexpr (P::FULL > 0) {
#pragma unroll
              for (int j = 0; j < TN; ++j) { ptx::mma_m16n8k8_tf32(part[i][j], l4, bh[j][0], bh[j][1]); }
#pragma unroll
              for (int j = 0; j < TN; ++j) { ptx::mma_m16n8k8_tf32(part[i][j], h4, bl[j][0], bl[j][1]); }
#pragma unroll
              for (int j = 0; j < TN; ++j) { ptx::mma_m16n8k8_tf32(part[i][j], h4, bh[j][0], bh[j][1]); }
              }
            }
            if constexpr (P::FULL > 0) { if ((k8 + 1) % P::FULL == 0) addup(); }
            continue;
          }
          if constexpr (P::PROMOTE == 4) {
            if (k8 == KS - 1 && MORE) { __pipeline_wait_prior(ST - 2); __syncthreads(); stage = stage + 1 == ST ? 0 : stage + 1; }
            if (k8 == 0) { if (tile + ST - 1 < tiles) copies.begin(to); to = to + 1 == ST ? 0 : to + 1; __pipeline_commit(); }
            ringed(k8 < KS - 1 || MORE, stage, (k8 + 1) % KS);
            continue;
          }
          if constexpr (!(P::LATE && P::NPROD == 3)) { if constexpr (P::NPROD == 3) splits(); else rounds(); }
          if (k8 == KS - 1 && MORE) {
            __pipeline_wait_prior(ST - 2); __syncthreads();
            stage = stage + 1 == ST ? 0 : stage + 1;
          }
          if (k8 < KS - 1 || MORE) read(stage, (k8 + 1) % KS);
          if (k8 == 0) { if (tile + ST - 1 < tiles) copies.begin(to); to = to + 1 == ST ? 0 : to + 1; __pipeline_commit(); }
          if constexpr (P::NPROD == 3) {
            if constexpr (P::PROMOTE) promoted();
            else if constexpr (P::FULL > 0) {
              if (P::LATEADD && k8 % P::FULL == 0) addup();
              if (k8 % P::FULL == 0 && (P::LAZY || P::ZEROC)) passl(al, bh, P::LAZY); else passp(al, bh);
              passp(ah, bl); passp(ah, bh);
              if ((k8 + 1) % P::FULL == 0 && !P::LAZY && !P::LATEADD) addup();
            }
            else if constexpr (P::LATE) {
              pass(al, bh); pass(ah, bl);
              uint32_t hx[TM][4], hy[TN][2];
#pragma unroll
              for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int h = 0; h < 4; ++h) hx[i][h] = ah[i][h];
#pragma unroll
              for (int j = 0; j < TN; ++j) hy[j][0] = bh[j][0], hy[j][1] = bh[j][1];
              if (k8 < KS - 1 || MORE) splits();
              pass(hx, hy);
            } else { pass(al, bh); pass(ah, bl); pass(ah, bh); }
          } else pass(ah, bh);
        }
      }
      if constexpr (!P::AHEAD) { stage = stage + 1 == ST ? 0 : stage + 1; to = to + 1 == ST ? 0 : to + 1; }
    };
    for (int64_t tile = 0; tile + 1 < tiles; ++tile) tile_products(tile, std::true_type());
    tile_products(tiles - 1, std::false_type());
    if constexpr (P::LAZY || P::LATEADD) addup();
  }
  const int64_t r0 = row0 + m + g, c0 = col0 + n;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int64_t r = r0 + i * 16 + h * 8;
      if (r >= M) continue;
      if constexpr (P::DEAL) {
#pragma unroll
        for (int j = 0; j < TN; j += 4)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int64_t c = c0 + j * 8 + 8 * t + 4 * e;
            if constexpr (W == 4) { if (c < N) *(float4*)(C + r * N + c) = make_float4(acc[i][j][2 * h + e], acc[i][j + 1][2 * h + e], acc[i][j + 2][2 * h + e], acc[i][j + 3][2 * h + e]); }
            else for (int x = 0; x < 4; ++x) if (c + x < N) C[r * N + c + x] = acc[i][j + x][2 * h + e];
          }
      } else {
#pragma unroll
        for (int j = 0; j < TN; ++j)
#pragma unroll
          for (int e = 0; e < 2; ++e) { const int64_t c = c0 + j * 8 + 2 * t + e; if (c < N) C[r * N + c] = acc[i][j][2 * h + e]; }
      }
    }
}
template <class P> void launch(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K, bool aligned) {
  auto go = [&](auto f) {
    cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM<P>);
    f<<<((M + P::BM - 1) / P::BM) * ((N + P::BN - 1) / P::BN), P::THREADS, (SMEM<P>)>>>(A, B, C, M, N, K);
  };
#ifdef WITH_ODD
  if (!aligned) { go(kernel<P, 1>); return; }
#endif
  go(kernel<P, 4>);
}
using Fn = void (*)(const float*, const float*, float*, int64_t, int64_t, int64_t, bool);
struct Entry { const char* name; Fn fn; const void* k; int threads, smem; };
template <class P> Entry entry(const char* n) { return {n, launch<P>, (const void*)kernel<P, 4>, P::THREADS, SMEM<P>}; }
template <int bm, int bn, int wm, int wn> struct Tile : Base {
  static constexpr int BM = bm, BN = bn, WM = wm, WN = wn, THREADS = bm / wm * (bn / wn) * 32;
};
