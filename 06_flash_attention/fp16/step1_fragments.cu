// Step 1: attention as the chapter's step 2 has it, a tile of K and of V at a time, with both
// products on tensor cores by mma 16×8×8. The sums of S of eight keys lie in the lanes as the left
// fragment of the second product needs P: so P stays in registers.
//
// FLOP            4·D a visible pair of query and key, in whole tiles of 64 × 64 pairs
// global memory   2·B·NH·HS·(2·Tq + 2·Tk·⌈Tq/64⌉) bytes, about half of Tk's part if causal
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/64⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   2·(64 + 2·64)·D bytes, 49,152 for HS = 128; D is HS padded to 64 or 128
// block           128 threads for 64 queries of a head, 16 a warp
#include "fp16/half_rows.cuh"
#include "fp16/launch.hpp"

namespace tutorial::flash_attention::fp16 {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;
constexpr int Br = WARPS * 16, Bc = 64;  // queries of a block, keys of a tile

/// S (16, Bc) = Q (16, D) · Kᵀ. A step multiplies 16 columns of Q and K, by two instructions of 8.
/// Lane l gives ldmatrix row l % 16 of Q, the left chunk if l < 16; of K row l % 8, in the lower 8
/// keys if l < 16.
template <class Tile>
__device__ void multiply_keys(float (&S)[Bc / 8][4], const __half* Q, const __half* K) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int d = 0; d < Tile::D / 16; ++d) {
    const __half* const from_Q = &Q[Tile::place(lane % 16, 2 * d + lane / 16)];
    const __half* const from_K = &K[Tile::place(lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)];
    uint32_t a[4], b[4];
    ldmatrix(a, from_Q);
#pragma unroll
    for (int n = 0; n < Bc / 8; n += 2) {
      ldmatrix(b, from_K + n * 8 * Tile::D);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        mma_m16n8k8<__half>(S[n], a[2 * half], a[2 * half + 1], b[half]);
        mma_m16n8k8<__half>(S[n + 1], a[2 * half], a[2 * half + 1], b[2 + half]);
      }
    }
  }
}

/// O (16, D) += P (16, Bc) · V, eight keys at a time. Lane l gives ldmatrix key l % 8, and of its
/// row chunk d + l / 8: four chunks are the right fragments of 32 columns.
template <class Tile>
__device__ void multiply_values(Rows16<Tile::D>& rows, const float (&P)[Bc / 8][4],
                                const __half* V) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int n = 0; n < Bc / 8; ++n) {
    const uint32_t a0 = pack<__half>(P[n][0], P[n][1]), a1 = pack<__half>(P[n][2], P[n][3]);
    uint32_t b[4];
#pragma unroll
    for (int d = 0; d < Tile::D / 8; d += 4) {
      ldmatrix_trans(b, &V[Tile::place(lane % 8, d + lane / 8)] + n * 8 * Tile::D);
#pragma unroll
      for (int x = 0; x < 4; ++x) mma_m16n8k8<__half>(rows.O[d + x], a0, a1, b[x]);
    }
  }
}

template <int D, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2)
    fragments_kernel(Attention shape, float scale, const __half* __restrict__ q,
                     const __half* __restrict__ k, const __half* __restrict__ v,
                     __half* __restrict__ out, float* __restrict__ lse) {
  using Tile = Swizzled<D>;
  extern __shared__ __align__(16) __half shared[];
  __half* const Q = shared;      // (Br, D)
  __half* const K = Q + Br * D;  // (Bc, D)
  __half* const V = K + Bc * D;  // (Bc, D)
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  const int HS = static_cast<int>(shape.HS);
  const BlockOf block(shape, Br);
  q += (block.head * Tq + block.i0) * HS;
  k += block.kv_head * Tk * HS;
  v += block.kv_head * Tk * HS;
  const int64_t last = block.i0 + Br < Tq ? block.i0 + Br : Tq;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(last - 1), Bc));
  const int warp_row = threadIdx.x / WARP * 16;

  RowsInRegisters<Tile, Br, THREADS> part;
  part.template read<ALIGNED>(q, Tq - block.i0, HS);
  part.store(Q);
  Rows16<D> rows;
  for (int j = 0; j < tiles; ++j) {
    const int64_t key = int64_t{j} * Bc;
    part.template read<ALIGNED>(k + key * HS, Tk - key, HS);
    part.store(K);
    part.template read<ALIGNED>(v + key * HS, Tk - key, HS);
    part.store(V);
    __syncthreads();

    float S[Bc / 8][4] = {};
    multiply_keys<Tile>(S, Q + warp_row * D, K);
    hide_masked(S, shape, block.i0 + warp_row, key);
    softmax(S, rows, scale);
    multiply_values<Tile>(rows, S, V);
    __syncthreads();  // nobody reads K and V any more
  }
  for (float& l : rows.l) l = quad_sum(l);
  store_rows<ALIGNED>(out + block.head * Tq * HS, lse + block.head * Tq, rows, block.i0 + warp_row,
                      Tq, HS, LN_2);
}

}  // namespace

// The 16-byte path if all four tensors allow it, else a number at a time.
void fragments(const Attention& shape, const __half* q, const __half* k, const __half* v,
               __half* out, float* lse, cudaStream_t stream) {
  require_supported(shape, "fragments");
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    constexpr int BYTES = (Br + 2 * Bc) * D * sizeof(__half);
    const auto kernel =
        all_aligned(q, k, v, out) ? fragments_kernel<D, true> : fragments_kernel<D, false>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    const unsigned blocks = query_blocks(shape, Br);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, THREADS, BYTES, stream>>>(shape, LOG2_E * score_scale(shape), q, k, v, out,
                                               lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::fp16
