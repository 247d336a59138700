#pragma once
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cstdint>
using bf16 = __nv_bfloat16;
__device__ inline uint32_t sa(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ inline void mma(float (&c)[4], const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void mma_free(float (&c)[4], const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void ldm(uint32_t* to, uint32_t a) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(a) : "memory");
}
__device__ inline void ldmt(uint32_t* to, uint32_t a) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(a) : "memory");
}
__device__ inline void cp16(uint32_t to, const void* from, bool in) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(in ? 16 : 0) : "memory");
}
__device__ inline void cp16h(uint32_t to, const void* from, bool in) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(in ? 16 : 0) : "memory");
}
template <int CHUNKS> __device__ inline int swz(int row, int chunk) {
  if (CHUNKS >= 8) return chunk ^ (row % 8);
  return chunk ^ (row / 2 % 4);
}
template <int BM_, int BN_, int BK_, int WM_, int WN_, int ST, int MINB, bool AHEAD_, int GROUP_, bool SPREAD_, int MODE_ = 0>
struct Cfg {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = ST, BLOCKS = MINB, GROUP = GROUP_;
  static constexpr int MODE = MODE_;
  static constexpr bool AHEAD = AHEAD_, SPREAD = SPREAD_, HINT = false;
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  static constexpr int STAGE = (BM * BK + BK * BN) * 2;
  static constexpr int EPI_ROW = WN + 8;
  static constexpr int EPI = THREADS / 32 * 16 * EPI_ROW * 4;
  static constexpr int SHARED = STAGE * ST > EPI ? STAGE * ST : EPI;
};
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) kern(const bf16* A, const bf16* B, float* C, int64_t M, int64_t N, int64_t K) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, WM = T::WM, WN = T::WN, STAGES = T::STAGES, THREADS = T::THREADS;
  constexpr int MI = WM / 16, NJ = WN / 8, KS = BK / 16;
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t base = sa(smem);
  const int across = (N + BN - 1) / BN, down = (M + BM - 1) / BM;
  int bm, bn;
  if (T::GROUP == 0) { bm = blockIdx.x / across; bn = blockIdx.x % across; }
  else {
    const int per = T::GROUP * across, g = blockIdx.x / per, first = g * T::GROUP;
    const int rows = min(T::GROUP, down - first), in = blockIdx.x % per;
    bm = first + in % rows; bn = in / rows;
  }
  const int64_t row0 = (int64_t)bm * BM, col0 = (int64_t)bn * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int wm = warp / T::WARPS_N * WM, wn = warp % T::WARPS_N * WN;
  constexpr int AC = BK / 8, BC = BN / 8;  // chunks a row
  constexpr int A_STEP = THREADS / AC, A_N = BM / A_STEP, B_STEP = THREADS / BC, B_N = BK / B_STEP;
  static_assert(BM % A_STEP == 0 && BK % B_STEP == 0 && A_STEP % 8 == 0);
  const int ar = threadIdx.x / AC, ac = threadIdx.x % AC, br = threadIdx.x / BC, bc = threadIdx.x % BC;
  const bf16* a_from = A + (row0 + ar) * K + ac * 8;
  const bf16* b_from = B + br * N + col0 + bc * 8;
  uint32_t a_in = 0;
#pragma unroll
  for (int i = 0; i < A_N; ++i) a_in |= (row0 + ar + i * A_STEP < M) << i;
  const bool b_in = col0 + bc * 8 < N;
  const uint32_t a_to = ar * BK * 2 + swz<AC>(ar, ac) * 16, b_to = BM * BK * 2 + br * BN * 2 + swz<BC>(br, bc) * 16;
  auto copy_part = [&](int part, int parts, int stage, int64_t k0) {
    if (T::MODE & 16) return;
    const int left = K - k0 < BK ? K - k0 : BK;
    const uint32_t as = base + stage * T::STAGE;
    const bf16* from = a_from + k0;
    const bool in = ac * 8 < left;
#pragma unroll
    for (int i = 0; i < A_N; ++i) {
      if (i * parts / A_N == part) {
      if (T::HINT) cp16h(as + a_to + i * A_STEP * BK * 2, from, in && (a_in >> i & 1)); else cp16(as + a_to + i * A_STEP * BK * 2, from, in && (a_in >> i & 1));
      }
      from += A_STEP * K;
    }
    from = b_from + k0 * N;
#pragma unroll
    for (int i = 0; i < B_N; ++i) {
      if (i * parts / B_N == part) {
      const int sw = B_STEP % 8 == 0 ? b_to : BM * BK * 2 + br * BN * 2 + swz<BC>(br + i * B_STEP, bc) * 16;
      const bool in = b_in && br + i * B_STEP < left;
      if (T::HINT) cp16h(as + sw + i * B_STEP * BN * 2, from, in); else cp16(as + sw + i * B_STEP * BN * 2, from, in);
      }
      from += B_STEP * N;
    }
  };
  const bf16* at_a = nullptr; const bf16* at_b = nullptr; uint32_t as_to = 0; bool in_a = false; int left_b = 0; int row_b = 0;
  auto begin_one = [&](int stage, int64_t k0, bool more) {
    const int left = K - k0 < BK ? K - k0 : BK;
    as_to = base + stage * T::STAGE;
    at_a = a_from + k0; at_b = b_from + k0 * N;
    in_a = more && ac * 8 < left; left_b = more && b_in ? left - br : 0;
  };
  auto copy_one = [&](int c) {
    if (c < A_N) {
      cp16(as_to + a_to + c * A_STEP * BK * 2, at_a, in_a && (a_in >> c & 1));
      at_a += A_STEP * K;
    } else if (c < A_N + B_N) {
      const int i = c - A_N;
      const int sw = B_STEP % 8 == 0 ? b_to : BM * BK * 2 + br * BN * 2 + swz<BC>(br + i * B_STEP, bc) * 16;
      cp16(as_to + sw + i * B_STEP * BN * 2, at_b, i * B_STEP < left_b);
      at_b += B_STEP * N;
    }
  };
  const int64_t tiles = (K + BK - 1) / BK;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < tiles) copy_part(0, 1, s, (int64_t)s * BK);
    asm volatile("cp.async.commit_group;");
  }
  float acc[MI][NJ][4] = {};
  uint32_t a[T::AHEAD ? 2 : 1][MI][4], b[T::AHEAD ? 2 : 1][NJ / 2][4];
  auto read = [&](int w, int stage, int kk) {
    if ((T::MODE & 32) && M > 1) return;
    const uint32_t as = base + stage * T::STAGE, bs = as + BM * BK * 2;
#pragma unroll
    for (int i = 0; i < MI; ++i) {
      const int r = wm + i * 16 + lane % 16;
      ldm(a[w][i], as + r * BK * 2 + swz<AC>(lane % 16, kk * 2 + lane / 16) * 16);
    }
#pragma unroll
    for (int j = 0; j < NJ / 2; ++j) {
      const int r = kk * 16 + lane % 16;
      ldmt(b[w][j], bs + r * BN * 2 + swz<BC>(lane % 16, wn / 8 + j * 2 + lane / 16) * 16);
    }
  };
  auto read_a = [&](int w, int stage, int kk, int i) {
    const uint32_t as = base + stage * T::STAGE;
    const int r = wm + i * 16 + lane % 16;
    ldm(a[w][i], as + r * BK * 2 + swz<AC>(lane % 16, kk * 2 + lane / 16) * 16);
  };
  auto read_b = [&](int w, int stage, int kk, int j) {
    const uint32_t bs = base + stage * T::STAGE + BM * BK * 2;
    const int r = kk * 16 + lane % 16;
    ldmt(b[w][j], bs + r * BN * 2 + swz<BC>(lane % 16, wn / 8 + j * 2 + lane / 16) * 16);
  };
  auto row = [&](int w, int i) {
#pragma unroll
      for (int j = 0; j < NJ; ++j) {
        const int t = (T::MODE & 8) || i % 2 == 0 ? j : NJ - 1 - j;
        if (T::MODE & 1) mma_free(acc[i][t], a[w][i], b[w][t / 2][t % 2 * 2], b[w][t / 2][t % 2 * 2 + 1]);
        else mma(acc[i][t], a[w][i], b[w][t / 2][t % 2 * 2], b[w][t / 2][t % 2 * 2 + 1]);
      }
  };
  auto multiply = [&](int w) {
#pragma unroll
    for (int i = 0; i < MI; ++i) row(w, i);
  };
  constexpr int SCHED = T::MODE / 2 % 4;
  int stage = 0;
  if (T::AHEAD) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    read(0, 0, 0);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int next = stage == STAGES - 1 ? 0 : stage + 1, fill = stage == 0 ? STAGES - 1 : stage - 1;
      const bool more = tile + STAGES - 1 < tiles;
#pragma unroll
      for (int kk = 0; kk < KS; ++kk) {
        if (SCHED == 3) {  // rolling, one buffer each
          const int w = 0;
          const bool last = kk == KS - 1;
          const int st = last ? next : stage, kn = last ? 0 : kk + 1;
          if (kk == 0) {
            if (more) copy_part(0, 1, fill, (tile + STAGES - 1) * BK);
            asm volatile("cp.async.commit_group;");
          }
          row(w, 0);
          if (last) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
            __syncthreads();
          }
          read_a(w, st, kn, 0);
#pragma unroll
          for (int i = 1; i < MI; ++i) {
            if (i < MI - 1) { row(w, i); read_a(w, st, kn, i); continue; }
#pragma unroll
            for (int j = 0; j < NJ; ++j) {
              if (T::MODE & 1) mma_free(acc[i][j], a[w][i], b[w][j / 2][j % 2 * 2], b[w][j / 2][j % 2 * 2 + 1]);
              else mma(acc[i][j], a[w][i], b[w][j / 2][j % 2 * 2], b[w][j / 2][j % 2 * 2 + 1]);
              if (j % 2 == 1) read_b(w, st, kn, j / 2);
            }
            read_a(w, st, kn, i);
          }
          continue;
        }
        if (SCHED == 1 || SCHED == 2) {
          const int w = kk % 2;
          const bool last = kk == KS - 1;
          const int st = last ? next : stage, kn = last ? 0 : kk + 1;
          if (kk == 0) {
            if (more) copy_part(0, 1, fill, (tile + STAGES - 1) * BK);
            asm volatile("cp.async.commit_group;");
          }
          constexpr int HALF = SCHED == 2 ? MI / 2 : 0;
          if (SCHED == 2) {
#pragma unroll
            for (int i = 0; i < HALF; ++i) row(w, i);
          }
          if (last) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
            __syncthreads();
          }
          if (SCHED == 2) {
            read(1 - w, st, kn);
#pragma unroll
            for (int i = HALF; i < MI; ++i) row(w, i);
          } else {
#pragma unroll
            for (int i = 0; i < MI; ++i) {
              read_b(1 - w, st, kn, i); read_a(1 - w, st, kn, i);
              row(w, i);
            }
          }
          continue;
        }
        if (kk == KS - 1) {
          asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
          if (!(T::MODE & 64)) __syncthreads();
          read((kk + 1) % 2, next, 0);
        } else read((kk + 1) % 2, stage, kk + 1);
        if (T::SPREAD) {
          if (more && kk < KS - 1) copy_part(kk, KS - 1, fill, (tile + STAGES - 1) * BK);
          if (kk == KS - 2) asm volatile("cp.async.commit_group;");
        } else if (T::MODE & 1024) {
          if (kk == 0) begin_one(fill, (tile + STAGES - 1) * BK, more);
          constexpr int PER = (A_N + B_N + (KS - 1) * MI - 1) / ((KS - 1) * MI);
#pragma unroll
          for (int i = 0; i < MI; ++i) {
            row(kk % 2, i);
            if (kk < KS - 1)
#pragma unroll
              for (int c = (kk * MI + i) * PER; c < (kk * MI + i + 1) * PER; ++c) copy_one(c);
          }
          if (kk == KS - 2) asm volatile("cp.async.commit_group;");
          continue;
        } else if (T::MODE & 2048) {
          if (kk == 0 || kk == 2) {
            if (more && (warp >= THREADS / 64) == (kk == 2)) copy_part(0, 1, fill, (tile + STAGES - 1) * BK);
          }
          if (kk == KS - 2) asm volatile("cp.async.commit_group;");
        } else if (kk == (T::MODE >> 8 & 3)) {
          if (more) copy_part(0, 1, fill, (tile + STAGES - 1) * BK);
          asm volatile("cp.async.commit_group;");
        }
        multiply(kk % 2);
      }
      stage = next;
    }
  } else {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int next = stage == STAGES - 1 ? 0 : stage + 1, fill = stage == 0 ? STAGES - 1 : stage - 1;
      const bool more = tile + STAGES - 1 < tiles;
      asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
      __syncthreads();
      if (!T::SPREAD) {
        if (more) copy_part(0, 1, fill, (tile + STAGES - 1) * BK);
        asm volatile("cp.async.commit_group;");
      }
#pragma unroll
      for (int kk = 0; kk < KS; ++kk) {
        read(0, stage, kk);
        if (T::SPREAD) {
          if (more) copy_part(kk, KS, fill, (tile + STAGES - 1) * BK);
          if (kk == KS - 1) asm volatile("cp.async.commit_group;");
        }
        multiply(0);
      }
      stage = next;
    }
  }
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float* mine = reinterpret_cast<float*>(smem) + warp * 16 * T::EPI_ROW;
  const bool wide = N % 4 == 0;
#pragma unroll
  for (int i = 0; i < MI; ++i) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < NJ; ++j) {
      const int c = j * 8 + lane % 4 * 2;
      *(float2*)&mine[lane / 4 * T::EPI_ROW + c] = make_float2(acc[i][j][0], acc[i][j][1]);
      *(float2*)&mine[(lane / 4 + 8) * T::EPI_ROW + c] = make_float2(acc[i][j][2], acc[i][j][3]);
    }
    __syncwarp();
#pragma unroll
    for (int x = lane; x < 16 * WN / 4; x += 32) {
      const int r = x / (WN / 4), c = x % (WN / 4) * 4;
      const int64_t row = row0 + wm + i * 16 + r, col = col0 + wn + c;
      const float4 v = *(const float4*)&mine[r * T::EPI_ROW + c];
      if (row < M && wide && col < N) *(float4*)&C[row * N + col] = v;
      if (row < M && !wide) {
        if (col < N) C[row * N + col] = v.x;
        if (col + 1 < N) C[row * N + col + 1] = v.y;
        if (col + 2 < N) C[row * N + col + 2] = v.z;
        if (col + 3 < N) C[row * N + col + 3] = v.w;
      }
    }
  }
}
template <class T> void launch(const bf16* A, const bf16* B, float* C, int64_t M, int64_t N, int64_t K) {
  cudaFuncSetAttribute(kern<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED);
  kern<T><<<((M + T::BM - 1) / T::BM) * ((N + T::BN - 1) / T::BN), T::THREADS, T::SHARED>>>(A, B, C, M, N, K);
}
using L = void (*)(const bf16*, const bf16*, float*, int64_t, int64_t, int64_t);
struct V { const char* name; L l; };
extern V list1[]; extern int n1;
extern V list2[]; extern int n2;
extern V list3[]; extern int n3;
