// Step 11 = step 10 for every head size that is a multiple of 8, up to 256: what was a constant is
// one for each padded head size. Tiles are as large as registers and shared memory have room for:
// above 128 tiles of keys are short, and Q has one place. Above 192 there are no turns: the
// products take so much longer than the softmax. Sizes up to 64 stay with step 10.
//
// A size between is padded with zeros that TMA makes, so it costs products, and no memory. What TMA
// cannot take, tensors that do not begin at a multiple of 16 bytes, goes to part tensor_cores' step
// any_address.
//
//   head size up to   96   128   192   256
//   keys of a tile   128   128   112    80
//   places for Q       2     2     1     1
//
// FLOP            as step 1, for HS padded to one of these
// global memory   as step 5
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
//                 (Br is 128; for HS <= 64 as in step 10)
// shared memory   192 KB to 224 KB
// block           as step 5
// H200            1.38 ms for B 4, NH 16, T 4096, HS 256 full, 109 % of cuDNN
#include "hopper/launch.hpp"
#include "hopper/schedule.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::hopper {
namespace {

constexpr int CONSUMERS = 2;  // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int Br = CONSUMERS * ROWS;  // queries of a block
// By head size: keys of a tile, places for queries, and whether warpgroups take turns.
template <int D>
constexpr int KEYS = D > 192 ? 80 : (D > 128 ? 112 : 128);
template <int D>
constexpr int QUERY_STAGES = D <= 128 ? 2 : 1;
template <int D>
constexpr bool TURNS = D <= 192;
constexpr int STAGES = 2;

template <int D>
struct Shared {
  Boxes<Br, D> Q[QUERY_STAGES<D>];
  Boxes<KEYS<D>, D> K[STAGES], V[STAGES];
  Barrier Q_full[QUERY_STAGES<D>], Q_empty[QUERY_STAGES<D>];
  Barrier K_full[STAGES], V_full[STAGES], K_empty[STAGES], V_empty[STAGES];
  int64_t ticket[QUERY_STAGES<D>];  // whose queries these are
};

template <int D>
__device__ __forceinline__ void make_barriers(Shared<D>& shared) {
  for (int stage = 0; stage < QUERY_STAGES<D>; ++stage) {
    barrier_init(shared.Q_full[stage], 1);
    barrier_init(shared.Q_empty[stage], CONSUMERS * WARPGROUP);  // each thread reads the ticket
  }
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(shared.K_full[stage], 1);
    barrier_init(shared.V_full[stage], 1);
    barrier_init(shared.K_empty[stage], CONSUMERS);
    barrier_init(shared.V_empty[stage], CONSUMERS);
  }
  barrier_init_fence();
}

/// The queries of a ticket.
template <int D>
__device__ __forceinline__ Queries queries_of(const Attention& shape, const Schedule& schedule,
                                              int64_t ticket) {
  const auto [head, tile] = schedule.place(ticket);
  return Queries(shape, Br, KEYS<D>, head, tile * Br);
}

/// Waits until a place for queries is empty, and writes there whose queries come.
template <int D>
__device__ __forceinline__ void put_ticket(Shared<D>& shared, int place, int parity,
                                           int64_t ticket) {
  barrier_wait(shared.Q_empty[place], parity ^ 1);
  shared.ticket[place] = ticket;
}

/// One thread: begins the loads for a tile of queries, each as soon as its stage is empty. The last
/// keys, where the mask is, come first, and before the queries, whose place may not be empty yet.
template <int D>
__device__ __forceinline__ void produce(Shared<D>& shared, const Queries& queries,
                                        const CUtensorMap& q, const CUtensorMap& k,
                                        const CUtensorMap& v, Ring<STAGES>& keys,
                                        Ring<STAGES>& values, const Ring<QUERY_STAGES<D>>& at,
                                        int64_t ticket) {
  constexpr int Bc = KEYS<D>;
  for (int j = queries.tiles - 1; j >= -1; --j) {  // V of a tile after K of the next
    if (j >= 0) {
      barrier_wait(shared.K_empty[keys.stage], keys.parity ^ 1);
      load(shared.K[keys.stage], k, shared.K_full[keys.stage], j * Bc, queries.kv_head);
      keys.next();
    }
    if (j == queries.tiles - 1) {
      put_ticket(shared, at.stage, at.parity, ticket);
      load(shared.Q[at.stage], q, shared.Q_full[at.stage], queries.i0, queries.head);
    }
    if (j + 1 < queries.tiles) {
      barrier_wait(shared.V_empty[values.stage], values.parity ^ 1);
      load(shared.V[values.stage], v, shared.V_full[values.stage], (j + 1) * Bc, queries.kv_head);
      values.next();
    }
  }
}

/// One thread: takes tickets, and begins all its block's loads.
template <int D>
__device__ __forceinline__ void produce_all(Shared<D>& shared, const Attention& shape,
                                            const Schedule& schedule, const CUtensorMap& q,
                                            const CUtensorMap& k, const CUtensorMap& v) {
  Ring<STAGES> keys, values;
  for (Ring<QUERY_STAGES<D>> at;; at.next()) {
    const int64_t ticket = static_cast<int64_t>(atomicAdd(schedule.next_ticket, 1));
    if (ticket >= schedule.tickets()) {
      put_ticket(shared, at.stage, at.parity, ticket);
      return barrier_arrive(shared.Q_full[at.stage]);
    }
    produce(shared, queries_of<D>(shape, schedule, ticket), q, k, v, keys, values, at, ticket);
  }
}

/// The turn goes round. Number 0 of the barriers is __syncthreads().
__device__ __forceinline__ void take_turn(int warpgroup) {
  named_sync(1 + warpgroup, 2 * WARPGROUP);
}
__device__ __forceinline__ void pass_turn(int warpgroup) {
  named_arrive(1 + (warpgroup + 1) % CONSUMERS, 2 * WARPGROUP);
}

/// A warpgroup: O and the sums of its 64 queries from i0 on.
template <int D>
__device__ __forceinline__ void consume(Shared<D>& shared, float (&O)[D / 2], Sums& sums,
                                        const Attention& shape, int tiles, int64_t i0, float scale,
                                        const Boxes<Br, D>& queries, Ring<STAGES>& keys,
                                        Ring<STAGES>& values) {
  constexpr int Bc = KEYS<D>;
  float S[Bc / 2];
  uint32_t P[Bc / 16][4];
  const int warpgroup = static_cast<int>(i0 % Br) / ROWS;
  const bf16* const Q = queries.box[0] + warpgroup * ROWS * COLUMNS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Bc);
  if (tiles == 0) return;
  barrier_wait(shared.K_full[keys.stage], keys.parity);
  if (TURNS<D>) take_turn(warpgroup);
  multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[keys.stage]);
  if (TURNS<D>) pass_turn(warpgroup);
  wgmma_wait<0>(S);
  release(shared.K_empty[keys.stage]);
  keys.next();
  if (tiles > whole) hide_masked(S, shape, i0, int64_t{tiles - 1} * Bc);
  softmax(S, sums, scale);  // O is 0
  round_weights(P, S);
  for (int j = tiles - 2; j >= 0; --j) {
    barrier_wait(shared.K_full[keys.stage], keys.parity);
    if (TURNS<D>) take_turn(warpgroup);
    multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[keys.stage]);
    barrier_wait(shared.V_full[values.stage], values.parity);
    multiply_values<D, Bc>(O, P, shared.V[values.stage]);
    if (TURNS<D>) pass_turn(warpgroup);
    wgmma_wait<1>(S);
    release(shared.K_empty[keys.stage]);
    keys.next();
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Bc);
    const Rescale rescale = softmax(S, sums, scale);
    wgmma_wait<0>(O);
    release(shared.V_empty[values.stage]);
    values.next();
    round_weights(P, S);
    rescale_rows(O, rescale);
  }
  barrier_wait(shared.V_full[values.stage], values.parity);
  multiply_values<D, Bc>(O, P, shared.V[values.stage]);
  wgmma_wait<0>(O);
  release(shared.V_empty[values.stage]);
  values.next();
}

/// Has the warpgroup's rows of O stored, by way of the place of its queries, which is empty then.
template <int D>
__device__ __forceinline__ void store_by_tma(const CUtensorMap& out, Boxes<Br, D>& place,
                                             Barrier& empty, const float (&O)[D / 2], int i0,
                                             int head) {
  const int warpgroup = i0 % Br / ROWS, all = 1 + CONSUMERS + warpgroup;  // barriers of its own
  bf16* const rows = place.box[0] + warpgroup * ROWS * COLUMNS;
  named_sync(all, WARPGROUP);  // all warps are done with their queries
  put_rows(rows, Br * COLUMNS, O);
  fence_async_proxy();
  named_sync(all, WARPGROUP);
  if (threadIdx.x % WARPGROUP == 0) {
#pragma unroll
    for (int i = 0; i < Boxes<Br, D>::COUNT; ++i)
      tma_store(out, rows + i * Br * COLUMNS, {i * COLUMNS, i0, head});
    tma_commit();
    tma_wait_read<0>();
  }
  barrier_arrive(empty);
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    head_sizes_kernel(Attention shape, Schedule schedule, float scale,
                      const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                      const __grid_constant__ CUtensorMap v,
                      const __grid_constant__ CUtensorMap out, float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = aligned_shared<Shared<D>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();
  if (threadIdx.x < WARPGROUP) {
    give_registers<24>();
    if (threadIdx.x < WARP && elect_one()) produce_all(shared, shape, schedule, q, k, v);
    return;
  }
  take_registers<240>();
  const int warpgroup = threadIdx.x / WARPGROUP - 1;
  if (TURNS<D> && warpgroup == 1) pass_turn(1);  // the first turn is warpgroup 0's
  Ring<STAGES> keys, values;
  for (Ring<QUERY_STAGES<D>> at;; at.next()) {
    barrier_wait(shared.Q_full[at.stage], at.parity);
    const int64_t ticket = shared.ticket[at.stage];
    if (ticket >= schedule.tickets()) return;
    const Queries queries = queries_of<D>(shape, schedule, ticket);
    const int i0 = queries.i0 + warpgroup * ROWS;
    float O[D / 2] = {};
    Sums sums;
    consume(shared, O, sums, shape, queries.tiles, i0, scale, shared.Q[at.stage], keys, values);
    finish(O, sums, lse + queries.head * shape.Tq, i0, shape.Tq);
    store_by_tma(out, shared.Q[at.stage], shared.Q_empty[at.stage], O, i0, queries.head);
  }
}

}  // namespace

void head_sizes(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse, Workspace workspace, cudaStream_t stream) {
  if (!tensor_cores::all_aligned(q, k, v, out))
    return tensor_cores::any_address(shape, q, k, v, out, lse, stream);
  require_supported(shape, "head_sizes", 256, q, k, v, out);
  if (shape.HS <= 64) return three_consumers(shape, q, k, v, out, lse, workspace, stream);
  with_padded_head_size<96, 128, 192, 256>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>, Bc = KEYS<D>;
    const auto kernel = head_sizes_kernel<D>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    Schedule schedule = schedule_of(shape, Br);
    schedule.next_ticket = counter_from_0(shape, "head_sizes", workspace, stream);
    kernel<<<blocks_that_stay(schedule.tickets()), THREADS, BYTES, stream>>>(
        shape, schedule, LOG2_E * score_scale(shape), queries_map(shape, q, Br),
        keys_map(shape, k, Bc, q), keys_map(shape, v, Bc, q), queries_map(shape, out, ROWS), lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::hopper
