// Words of steps 5 to 7: a block's shared memory, the threads that load and add, and what a
// warpgroup does with its sums. The products are part hopper's words.
//
// A block has 128 keys, 64 for each of its two warpgroups that compute, and walks over tiles of
// queries. A warpgroup has keys as rows (common/kernel/wgmma.cuh): Sᵀ and dPᵀ are its sums, and the
// weights in its registers the A of the products behind.
#pragma once

#include "backward_tensor_cores/launch.hpp"
#include "backward_tensor_cores/sums_in_turn.hpp"
#include "common/kernel/bulk.cuh"
#include "hopper/schedule.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {

using hopper::Boxes, hopper::BOX_ROW, hopper::COLUMNS, hopper::ROWS, hopper::Schedule;
using hopper::load, hopper::multiply_keys, hopper::multiply_values, hopper::put_rows,
    hopper::release, hopper::round_weights;

inline constexpr int CONSUMERS = 2;  // warpgroups
static_assert(KEYS == CONSUMERS * ROWS);
inline constexpr int BLOCK = (1 + CONSUMERS) * WARPGROUP;  // threads
inline constexpr int STAGES = 2;

template <int D>
struct Shared {
  static constexpr int Br = queries_of_tile(D), HALVES = Br / ROWS;
  Boxes<KEYS, D> K, V;
  Boxes<ROWS, D> Q[STAGES][HALVES], dO[STAGES][HALVES];
  Boxes<KEYS, ROWS> dS[2][HALVES];  // dSᵀ: a row has a key, as the registers do
  float parts[CONSUMERS][PART / 4 / WARPGROUP][WARPGROUP][4];  // of dq, as registers hold them
  alignas(128) float of_queries[STAGES][2][Br];
  Barrier keys_full, Q_full[STAGES], dO_full[STAGES], Q_empty[STAGES], dO_empty[STAGES];
  Barrier part_full[CONSUMERS], part_empty[CONSUMERS];
  int64_t ticket;
};

static_assert(aligned_bytes<Shared<64>> <= HOPPER_BYTES &&
              aligned_bytes<Shared<128>> <= HOPPER_BYTES);

template <int D>
__device__ __forceinline__ void make_barriers(Shared<D>& shared) {
  barrier_init(shared.keys_full, 2);
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(shared.Q_full[stage], Shared<D>::HALVES + 1);  // with what belongs to the queries
    barrier_init(shared.dO_full[stage], Shared<D>::HALVES);
    barrier_init(shared.Q_empty[stage], CONSUMERS);
    barrier_init(shared.dO_empty[stage], CONSUMERS);
  }
  for (int w = 0; w < CONSUMERS; ++w) {
    barrier_init(shared.part_full[w], WARPGROUP);
    barrier_init(shared.part_empty[w], 1);
  }
  barrier_init_fence();
}

/// The keys of a ticket, and the tiles of queries that they walk over: of one head after the other
/// of those that share the keys, the last tile first. All blocks of a head begin with the same
/// tile, and the first of them is the first to add to it. In step 7 a ticket has a share of those
/// heads.
template <int D>
struct Walk {
  static constexpr int Br = queries_of_tile(D);
  int kv_head, share, block, j0, first_head;
  int tiles, of_a_head, count;
  int64_t all_tiles;  // of all heads
  __device__ Walk(const Attention& shape, const Schedule& schedule, int64_t ticket,
                  int shares = 1) {
    const auto [number, backwards] = schedule.place(ticket);
    kv_head = static_cast<int>(number) / shares;
    share = static_cast<int>(number) % shares;
    block = static_cast<int>(schedule.tiles - 1 - backwards);
    j0 = block * KEYS;
    const int group = static_cast<int>(shape.group()), first = group * share / shares;
    first_head = kv_head * group + first;
    tiles = static_cast<int>(ceil_div(shape.Tq, Br));
    all_tiles = shape.B * shape.NH * tiles;
    const int64_t hidden = shape.first_query(j0) / Br;
    of_a_head = hidden < tiles ? tiles - static_cast<int>(hidden) : 0;
    count = (group * (share + 1) / shares - first) * of_a_head;
  }
  __device__ int head(int n) const { return first_head + n / of_a_head; }
  __device__ int i0(int n) const { return (tiles - 1 - n % of_a_head) * Br; }
  /// The number of the tile among those of all heads.
  __device__ int64_t tile(int n) const {
    return int64_t{head(n)} * tiles + tiles - 1 - n % of_a_head;
  }
};

/// One thread: begins all loads, each as soon as its stage is empty.
template <int D>
__device__ __forceinline__ void produce(Shared<D>& shared, const Walk<D>& walk, const Maps& maps) {
  constexpr int Br = Shared<D>::Br;
  load(shared.K, maps.k, shared.keys_full, walk.j0, walk.kv_head);
  load(shared.V, maps.v, shared.keys_full, walk.j0, walk.kv_head);
  Ring<STAGES> at;
  for (int n = 0; n < walk.count; ++n, at.next()) {
    const int head = walk.head(n), i0 = walk.i0(n);
    Barrier& full = shared.Q_full[at.stage];
    barrier_wait(shared.Q_empty[at.stage], at.parity ^ 1);
    for (int half = 0; half < Shared<D>::HALVES; ++half)
      load(shared.Q[at.stage][half], maps.q, full, i0 + half * ROWS, head);
    barrier_arrive_expect(full, 2 * Br * static_cast<int>(sizeof(float)));
    tma_load(shared.of_queries[at.stage], maps.of_queries, full,
             {0, static_cast<int>(walk.tile(n))});
    barrier_wait(shared.dO_empty[at.stage], at.parity ^ 1);
    for (int half = 0; half < Shared<D>::HALVES; ++half)
      load(shared.dO[at.stage][half], maps.dout, shared.dO_full[at.stage], i0 + half * ROWS, head);
  }
}

/// One thread for each warpgroup w: has its parts of dq added. Of each part block 0 of the head's
/// keys is first, and stores its own, then come block 1, and so on: so the sums have the same bits
/// on every run. Of n sums block b has number b % n, to which every n-th block adds. Blocks are
/// numbered as they begin, so whom this one waits for has begun.
template <int D>
__device__ __forceinline__ void add_parts(Shared<D>& shared, const Walk<D>& walk, const Sums& sums,
                                          int w) {
  const int sum = walk.block % static_cast<int>(sums.counts.of_queries);
  const unsigned before = walk.block / static_cast<int>(sums.counts.of_queries);
  Ring<1> at;
  for (int n = 0; n < walk.count; ++n, at.next()) {
    const int64_t part = (sum * walk.all_tiles + walk.tile(n)) * CONSUMERS + w;
    unsigned* const turn = sums.turns + part;
    barrier_wait(shared.part_full[w], at.parity);
    while (atomicAdd(turn, 0u) != before) {
    }
    __threadfence();
    float* const to = sums.dq + part * PART;
    if (before == 0)
      bulk_store(to, &shared.parts[w][0][0][0], PART);
    else
      bulk_add(to, &shared.parts[w][0][0][0], PART);
    tma_commit();
    tma_wait_read<0>();
    barrier_arrive(shared.part_empty[w]);
    tma_wait<0>();  // its numbers are added
    __threadfence();
    atomicAdd(turn, 1u);
  }
}

/// Begins a warpgroup's part of dQ = dS·K, of all the block's keys. Both run along what is not
/// summed over: dS along queries, K along the head size.
template <int D>
__device__ __forceinline__ void multiply_part(float (&part)[PART / WARPGROUP], Shared<D>& shared,
                                              int n, int w) {
  const WgmmaOperand dS({.start = shared.dS[n % 2][Shared<D>::HALVES == 2 ? w : 0].box}),
      K({.start = shared.K.box[Shared<D>::HALVES == 2 ? 0 : w]});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < KEYS; k += 16)
    wgmma<64, bf16, Major::mn, Major::mn>(part, dS + k * BOX_ROW, K + k * BOX_ROW, k > 0);
  wgmma_commit();
}

/// Hands a part to the thread that has it added.
template <int D>
__device__ __forceinline__ void put_part(Shared<D>& shared, const float (&part)[PART / WARPGROUP],
                                         int w, Ring<1>& at) {
  barrier_wait(shared.part_empty[w], at.parity ^ 1);
#pragma unroll
  for (int i = 0; i < PART / 4 / WARPGROUP; ++i)
    *reinterpret_cast<float4*>(shared.parts[w][i][threadIdx.x % WARPGROUP]) =
        make_float4(part[4 * i], part[4 * i + 1], part[4 * i + 2], part[4 * i + 3]);
  fence_async_proxy();
  barrier_arrive(shared.part_full[w]);
  at.next();
}

/// Sᵀ: −∞ where the query may not see the key, and for keys that are not there. The warpgroup's
/// keys begin at j0, the queries at i0.
template <int N>
__device__ __forceinline__ void hide_unseen(float (&S)[N], const Attention& shape, int i0, int j0) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
  const int key = j0 + 16 * warp + lane / 4, shift = static_cast<int>(shape.Tk - shape.Tq);
  const bool masked = shape.causal && j0 + ROWS - 1 > i0 + shift;
  if (!masked && j0 + ROWS <= shape.Tk) return;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int j = key + 8 * (i / 2 % 2), query = i0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (j >= shape.Tk || (shape.causal && j > query + shift)) S[i] = -INFINITY;
  }
}

/// Sᵀ becomes Pᵀ = 2^(scale·S − log2_sum of the column's query).
template <int N>
__device__ __forceinline__ void weigh(float (&S)[N], const float* log2_sums, float scale) {
  const int column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const float2 sum = *reinterpret_cast<const float2*>(&log2_sums[2 * i + column]);
#pragma unroll
    for (int h = 0; h < 4; h += 2) {
      S[i + h] = exp2_approx(fmaf(S[i + h], scale, -sum.x));
      S[i + h + 1] = exp2_approx(fmaf(S[i + h + 1], scale, -sum.y));
    }
  }
}

/// dPᵀ becomes dSᵀ = P ∘ (dP − D of the column's query).
template <int N>
__device__ __forceinline__ void weigh_gradients(float (&dP)[N], const float (&P)[N],
                                                const float* row_dots) {
  const int column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const float2 dot = *reinterpret_cast<const float2*>(&row_dots[2 * i + column]);
#pragma unroll
    for (int h = 0; h < 4; h += 2) {
      dP[i + h] = P[i + h] * (dP[i + h] - dot.x);
      dP[i + h + 1] = P[i + h + 1] * (dP[i + h + 1] - dot.y);
    }
  }
}

/// Puts a warpgroup's rows of dSᵀ where multiply_part() of both warpgroups reads them. They are
/// there after the next barrier of both.
__device__ __forceinline__ void put_gradients(Boxes<KEYS, ROWS>& to, const float (&dS)[ROWS / 2],
                                              int w) {
  put_rows(to.box[0] + w * ROWS * COLUMNS, KEYS * COLUMNS, dS);
  fence_async_proxy();
}
/// Both warpgroups' dSᵀ are there. Number 0 of the barriers is __syncthreads().
__device__ __forceinline__ void gradients_sync() {
  named_sync(1, CONSUMERS * WARPGROUP);
}

/// Stores a warpgroup's rows of dk or dv, times `factor`.
template <int N>
__device__ __forceinline__ void store_rows(bf16* to, float (&sums)[N], float factor, int j0,
                                           const Attention& shape) {
#pragma unroll
  for (float& sum : sums) sum *= factor;
  hopper::store(to, sums, j0, shape.Tk, static_cast<int>(shape.HS));
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
