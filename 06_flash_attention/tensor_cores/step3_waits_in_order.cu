// Step 3 = step 2 + copies that go on during the products: V comes during the first product and the
// softmax, the next K during the softmax and the second product. A thread waits for the older of
// its two groups of copies only.
//
// FLOP            as step 1
// global memory   as step 1
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/64⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   as step 1: K's place is free once S is there
// block           as step 1
// H200            2.01 ms for B 4, NH 16, T 4096, HS 128 full, 77 % of FlashAttention 2
#include "tensor_cores/launch.hpp"
#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;
constexpr int Br = WARPS * 16, Bc = 64;  // queries of a block, keys of a tile

/// Rows of D numbers, one after the other, each with its chunks in an order of its own.
template <int HEAD_SIZE>
struct Swizzled {
  static constexpr int D = HEAD_SIZE, BYTES = (Br + 2 * Bc) * D * sizeof(bf16);
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

/// S (16, Bc) = Q (16, D) · Kᵀ. A step multiplies 16 columns of Q and K. Lane l gives ldmatrix row
/// l % 16 of Q, the left chunk if l < 16; of K row l % 8, in the lower 8 keys if l < 16.
template <class Tile>
__device__ void multiply_keys(float (&S)[Bc / 8][4], const bf16* Q, const bf16* K) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int d = 0; d < Tile::D / 16; ++d) {
    const bf16* const from_Q = &Q[Tile::place(lane % 16, 2 * d + lane / 16)];
    const bf16* const from_K = &K[Tile::place(lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)];
    uint32_t a[4], b[4];
    ldmatrix(a, from_Q);
#pragma unroll
    for (int n = 0; n < Bc / 8; n += 2) {
      ldmatrix(b, from_K + n * 8 * Tile::D);
      mma_m16n8k16<bf16>(S[n], a, b[0], b[1]);
      mma_m16n8k16<bf16>(S[n + 1], a, b[2], b[3]);
    }
  }
}

/// O (16, D) += P (16, Bc) · V. The sums of 8 columns n of P are half of the fragment of 16 keys.
template <class Tile>
__device__ void multiply_values(Rows16<Tile::D>& rows, const float (&P)[Bc / 8][4], const bf16* V) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int n = 0; n < Bc / 8; n += 2) {
    const uint32_t a[4] = {pack<bf16>(P[n][0], P[n][1]), pack<bf16>(P[n][2], P[n][3]),
                           pack<bf16>(P[n + 1][0], P[n + 1][1]),
                           pack<bf16>(P[n + 1][2], P[n + 1][3])};
    uint32_t b[4];
#pragma unroll
    for (int d = 0; d < Tile::D / 8; d += 2) {
      ldmatrix_trans(b, &V[Tile::place(lane % 16, d + lane / 16)] + n * 8 * Tile::D);
      mma_m16n8k16<bf16>(rows.O[d], a, b[0], b[1]);
      mma_m16n8k16<bf16>(rows.O[d + 1], a, b[2], b[3]);
    }
  }
}

/// S becomes P = exp(scale·S − m); m, l and O become those of all keys so far.
template <int D>
__device__ void softmax(float (&S)[Bc / 8][4], Rows16<D>& rows, float scale) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float max = -INFINITY, sum = 0;
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e) max = fmaxf(max, S[n][e] *= scale);
    max = fmaxf(rows.m[h], quad_max(max));
    const float base = finite_max(max), factor = __expf(rows.m[h] - base);
#pragma unroll
    for (int n = 0; n < Bc / 8; ++n)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e) sum += S[n][e] = __expf(S[n][e] - base);
    rows.m[h] = max;
    rows.l[h] = rows.l[h] * factor + quad_sum(sum);
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; ++e) rows.O[d][e] *= factor;
  }
}

template <class Tile>
__global__ void __launch_bounds__(THREADS)
    waits_in_order_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                          const bf16* __restrict__ k, const bf16* __restrict__ v,
                          bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D;
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;      // (Br, D)
  bf16* const K = Q + Br * D;  // (Bc, D)
  bf16* const V = K + Bc * D;  // (Bc, D)
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  const int HS = static_cast<int>(shape.HS);
  const BlockOf block(shape, Br);
  q += (block.head * Tq + block.i0) * HS;
  k += block.kv_head * Tk * HS;
  v += block.kv_head * Tk * HS;
  const int64_t last = block.i0 + Br < Tq ? block.i0 + Br : Tq;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(last - 1), Bc));
  const int warp_row = threadIdx.x / WARP * 16;

  // Begins to copy tile j, if there is one. A group may be empty: so the one that is waited for
  // always is the last but one.
  const auto begin_copy = [&](bf16* tile, const bf16* from, int j) {
    const int64_t key = int64_t{j} * Bc;
    if (j < tiles) copy_rows<Tile, Bc, THREADS>(tile, from + key * HS, Tk - key, HS);
    __pipeline_commit();
  };
  const auto wait_for_last_but_one = [] {
    __pipeline_wait_prior(1);
    __syncthreads();
  };

  copy_rows<Tile, Br, THREADS>(Q, q, Tq - block.i0, HS);
  begin_copy(K, k, 0);
  Rows16<D> rows;
  for (int j = 0; j < tiles; ++j) {
    begin_copy(V, v, j);
    wait_for_last_but_one();  // K's tile j
    float S[Bc / 8][4] = {};
    multiply_keys<Tile>(S, Q + warp_row * D, K);
    __syncthreads();  // nobody reads K any more
    begin_copy(K, k, j + 1);
    hide_masked(S, shape, block.i0 + warp_row, int64_t{j} * Bc);
    softmax(S, rows, scale);
    wait_for_last_but_one();  // V's tile j
    multiply_values<Tile>(rows, S, V);
    __syncthreads();  // nobody reads V any more
  }
  store_rows(out + block.head * Tq * HS, lse + block.head * Tq, rows, block.i0 + warp_row, Tq, HS,
             1.0f);
}

}  // namespace

void waits_in_order(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                    float* lse, cudaStream_t stream) {
  require_supported(shape, "waits_in_order", 128, q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    const auto kernel = waits_in_order_kernel<Swizzled<D>>;
    allow_shared_memory(kernel, Swizzled<D>::BYTES, "head size", shape.HS);
    const unsigned blocks = query_blocks(shape, Br);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, THREADS, Swizzled<D>::BYTES, stream>>>(shape, score_scale(shape), q, k, v, out,
                                                            lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::tensor_cores
