// Step 4 = step 3 + registers: a thread computes 8 rows of a tile of S and of O, so that a float
// read from shared memory serves many products, as in chapter 2.
//
// Cost a head: FLOP and bytes as step 3, but with larger tiles, Br = 128 (64 if HS > 64), which
// read K and V a quarter (half) as often. 16 reads of 16 bytes from shared memory serve 512 FLOP
// (12 serve 256 if HS > 64), where step 3 has 2 reads of 4 bytes for 2 FLOP. Shared memory for HS =
// 64: 87,040 bytes, for 128: 84,992, so that an SM of an H100 has room for two blocks. 128 threads.
//
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
#include <string>

#include "06_flash_attention.hpp"
#include "tiles.cuh"

namespace tutorial::flash {

static constexpr int WARPS = 4, THREADS = 32 * WARPS;
static constexpr int ROWS = 8, Bc = 64;  // rows a thread has, keys in a tile

/// Which thread has what. D is the head size, padded with zeros; TX threads stand side by side over
/// the columns of S and O.
template <int D, int TX>
struct Division {
  static constexpr int TY = THREADS / TX, Br = ROWS * TY;  // a thread has the rows ty, ty + TY, …
  static constexpr int COLS = Bc / TX;                     // the columns tx, tx + TX, … of S
  static constexpr int QUADS = D / TX / 4;  // and the quadruples tx, tx + TX, … of a row of O
  // Rows in shared memory have 4 floats more than they need: 8 lanes that read 16 bytes each, of 8
  // rows, then hit all 32 banks once, and every read is 16-byte aligned.
  static constexpr int STRIDE = D + 4, P_STRIDE = Bc + 4;
  static constexpr int64_t bytes(int64_t columns) {
    return int64_t{sizeof(float)} * ((Br + Bc) * (columns + 4) + Br * P_STRIDE);
  }
};

static __device__ float4 load4(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

/// The TX neighbours that share rows reduce as a warp does (common/kernel/reduce.cuh), in fewer
/// rounds.
template <int TX>
__device__ float row_max(float value) {
  for (int offset = TX / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}
template <int TX>
__device__ float row_sum(float value) {
  for (int offset = TX / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <int D, int TX>
static __global__ void __launch_bounds__(THREADS)
    register_tiles_kernel(Attention shape, float scale, const float* __restrict__ q,
                          const float* __restrict__ k, const float* __restrict__ v,
                          float* __restrict__ out, float* __restrict__ lse) {
  using Tile = Division<D, TX>;
  constexpr int TY = Tile::TY, Br = Tile::Br, COLS = Tile::COLS, QUADS = Tile::QUADS;
  constexpr int STRIDE = Tile::STRIDE, P_STRIDE = Tile::P_STRIDE;
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;               // Br × D
  float* const KV_j = Q_i + Br * STRIDE;   // Bc × D: K_j, and once S is there, V_j
  float* const P_ij = KV_j + Bc * STRIDE;  // Br × Bc

  // With a causal mask the last queries have the most keys. Their blocks start first, so that no
  // long one is left over at the end.
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Br) - 1 - blockIdx.x / heads) * Br;
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  out += head * Tq * HS;
  lse += head * Tq;
  const int tx = threadIdx.x % TX, ty = threadIdx.x / TX;  // so a warp has rows of its own

  load_tile<WARPS>(Q_i, Br, D, STRIDE, q, i0, Tq, HS);
  float m_i[ROWS], l_i[ROWS], O_i[ROWS][4 * QUADS] = {};
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    m_i[r] = -INFINITY;
    l_i[r] = 0.0f;
  }

  const int64_t last = (i0 + Br < Tq ? i0 + Br : Tq) - 1, keys = shape.visible_keys(last);
  const int64_t seen_by_all = shape.visible_keys(i0);
  for (int64_t j0 = 0; j0 < keys; j0 += Bc) {
    __syncthreads();  // all warps are done with the last V_j
    load_tile<WARPS>(KV_j, Bc, D, STRIDE, k, j0, Tk, HS);
    __syncthreads();

    // S = Q_i·K_jᵀ, four columns of Q and K at a time: ROWS × COLS × 4 products.
    float S[ROWS][COLS] = {};
    for (int d = 0; d < D; d += 4) {
      float4 k4[COLS];
#pragma unroll
      for (int c = 0; c < COLS; ++c) k4[c] = load4(&KV_j[(tx + TX * c) * STRIDE + d]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float4 q4 = load4(&Q_i[(ty + TY * r) * STRIDE + d]);
#pragma unroll
        for (int c = 0; c < COLS; ++c) {
          S[r][c] += q4.x * k4[c].x;
          S[r][c] += q4.y * k4[c].y;
          S[r][c] += q4.z * k4[c].z;
          S[r][c] += q4.w * k4[c].w;
        }
      }
    }

    // The online softmax, as before. Only tiles on the diagonal, and the last one, need the mask.
    const bool masked = j0 + Bc > seen_by_all;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int row = ty + TY * r;
      const int64_t visible = shape.visible_keys(i0 + row) - j0;
      float m_new = -INFINITY, l_new = 0.0f;
#pragma unroll
      for (int c = 0; c < COLS; ++c) {
        S[r][c] = masked && tx + TX * c >= visible ? -INFINITY : S[r][c] * scale;
        m_new = fmaxf(m_new, S[r][c]);
      }
      m_new = fmaxf(m_i[r], row_max<TX>(m_new));
#pragma unroll
      for (int c = 0; c < COLS; ++c) {
        const float p = exp_minus(S[r][c], m_new);
        P_ij[row * P_STRIDE + tx + TX * c] = p;
        l_new += p;
      }
      const float rescale = exp_minus(m_i[r], m_new);
      l_i[r] = rescale * l_i[r] + row_sum<TX>(l_new);
      m_i[r] = m_new;
#pragma unroll
      for (int d = 0; d < 4 * QUADS; ++d) O_i[r][d] *= rescale;
    }

    __syncthreads();  // all warps are done with K_j
    load_tile<WARPS>(KV_j, Bc, D, STRIDE, v, j0, Tk, HS);
    __syncthreads();

    // O_i = O_i + P_ij·V_j, four keys at a time.
    for (int c = 0; c < Bc; c += 4) {
      float4 v4[4][QUADS];
#pragma unroll
      for (int t = 0; t < 4; ++t)
#pragma unroll
        for (int g = 0; g < QUADS; ++g)
          v4[t][g] = load4(&KV_j[(c + t) * STRIDE + 4 * (tx + TX * g)]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const float4 p4 = load4(&P_ij[(ty + TY * r) * P_STRIDE + c]);
        const float p[4] = {p4.x, p4.y, p4.z, p4.w};
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int g = 0; g < QUADS; ++g) {
            O_i[r][4 * g + 0] += p[t] * v4[t][g].x;
            O_i[r][4 * g + 1] += p[t] * v4[t][g].y;
            O_i[r][4 * g + 2] += p[t] * v4[t][g].z;
            O_i[r][4 * g + 3] += p[t] * v4[t][g].w;
          }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int64_t i = i0 + ty + TY * r;
    if (i >= Tq) break;
    const float inverse = l_i[r] == 0.0f ? 0.0f : 1 / l_i[r];  // 0: the query sees no key
#pragma unroll
    for (int d = 0; d < 4 * QUADS; ++d) {
      const int column = 4 * (tx + TX * (d / 4)) + d % 4;
      if (column < HS) out[i * HS + column] = O_i[r][d] * inverse;
    }
    if (tx == 0) lse[i] = m_i[r] + logf(l_i[r]);
  }
}

template <int D, int TX>
static void launch(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse) {
  using Tile = Division<D, TX>;
  const int64_t blocks = shape.B * shape.NH * ceil_div(shape.Tq, Tile::Br);
  const auto kernel = register_tiles_kernel<D, TX>;
  allow_shared_memory(kernel, Tile::bytes(D), "head size", shape.HS);
  kernel<<<grid_blocks(blocks), THREADS, Tile::bytes(D)>>>(shape, score_scale(shape), q, k, v, out,
                                                           lse);
  CUDA_CHECK_LAUNCH();
}

void register_tiles(const Attention& shape, const float* q, const float* k, const float* v,
                    float* out, float* lse, float*) {
  require_valid(shape);
  if (shape.rows() * shape.HS == 0) return;
  if (shape.HS <= 32) return launch<32, 8>(shape, q, k, v, out, lse);
  if (shape.HS <= 64) return launch<64, 8>(shape, q, k, v, out, lse);
  if (shape.HS <= 128) return launch<128, 16>(shape, q, k, v, out, lse);
  // The tiles of Q and K could be wider than 128, if the device allows it, but not a thread's O.
  allow_shared_memory(register_tiles_kernel<128, 16>, Division<128, 16>::bytes(shape.HS),
                      "head size", shape.HS);
  throw Error("head size " + std::to_string(shape.HS) +
              " is too large for register_tiles, which keeps O in registers and takes at " +
              "most 128; take --kernel q_outer.");
}

}  // namespace tutorial::flash
