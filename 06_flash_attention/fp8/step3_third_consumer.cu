// Step 3 = step 2 + a third consumer for heads up to 64, as in step 10 of part hopper: there the
// softmax takes longer than both products, and so two consumers have theirs while one multiplies.
//
// Three consumers have registers for no more than 64 columns of O beside 128 keys, and they take
// 192 queries: larger heads, and numbers of queries that waste more than a tenth of the rows, stay
// with step 2.
//
// FLOP            as step 1
// global memory   as step 2
// asked for       loads B·NH·(HS·(Tq + 2·Tk·⌈Tq/Br⌉) + 24·Br·⌈Tq/Br⌉) bytes,
//                 stores 2·B·NH·Tq·(HS + 2) bytes (Br is 192, or 128 in step 2)
// shared memory   64·(2·192 + 6·128) + 2·64·192 bytes and the barriers: 98,304
// block           512 threads for 192 queries and a head, as many blocks as SMs
#include "fp8/launch.hpp"
#include "fp8/transpose.cuh"
#include "fp8/words.cuh"
#include "hopper/schedule.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

using hopper::Schedule;

constexpr int CONSUMERS = 3;  // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int Br = CONSUMERS * ROWS, Bc = 128;  // queries of a block, keys of a tile
constexpr int STAGES = 2, QUERY_STAGES = 2;
constexpr int TRANSPOSERS = 3;  // warps: those of the producer's warpgroup that load nothing

template <int D>
struct Shared {
  Rows<Br, D> Q[QUERY_STAGES];
  Rows<Bc, D> K[STAGES], V[STAGES];
  Columns<Bc, D> transposed[STAGES];
  Boxes<Br, D> O;
  Barrier Q_full[QUERY_STAGES], Q_empty[QUERY_STAGES];
  Barrier K_full[STAGES], V_full[STAGES], K_empty[STAGES], V_empty[STAGES];
  Barrier transposed_full[STAGES], transposed_empty[STAGES];
  int64_t ticket[QUERY_STAGES];  // whose queries these are
  int tiles[QUERY_STAGES];       // how many tiles of keys they see, or −1: no more tickets
};

template <int D>
__device__ __forceinline__ void make_barriers(Shared<D>& shared) {
  for (int stage = 0; stage < QUERY_STAGES; ++stage) {
    barrier_init(shared.Q_full[stage], 1);
    // Each thread reads the ticket.
    barrier_init(shared.Q_empty[stage], CONSUMERS * WARPGROUP + TRANSPOSERS * WARP);
  }
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(shared.K_full[stage], 1);
    barrier_init(shared.V_full[stage], 1);
    barrier_init(shared.K_empty[stage], CONSUMERS);
    barrier_init(shared.V_empty[stage], TRANSPOSERS);
    barrier_init(shared.transposed_full[stage], TRANSPOSERS);
    barrier_init(shared.transposed_empty[stage], CONSUMERS);
  }
  barrier_init_fence();
}

/// The queries of a ticket.
__device__ __forceinline__ Queries queries_of(const Attention& shape, const Schedule& schedule,
                                              int64_t ticket) {
  const auto [head, tile] = schedule.place(ticket);
  return Queries(shape, Br, Bc, head, tile * Br);
}

/// Waits until a place for queries is empty, and writes there whose queries come.
template <int D>
__device__ __forceinline__ void put_ticket(Shared<D>& shared, int place, int parity, int64_t ticket,
                                           int tiles) {
  barrier_wait(shared.Q_empty[place], parity ^ 1);
  shared.ticket[place] = ticket, shared.tiles[place] = tiles;
}

/// One thread: begins the loads for a tile of queries, each as soon as its stage is empty. The last
/// keys, where the mask is, come first, and before the queries, whose place may not be empty yet.
template <int D>
__device__ __forceinline__ void produce(Shared<D>& shared, const Queries& queries,
                                        const CUtensorMap& q, const CUtensorMap& k,
                                        const CUtensorMap& v, Ring<STAGES>& keys,
                                        Ring<STAGES>& values, const Ring<QUERY_STAGES>& at,
                                        int64_t ticket) {
  for (int j = queries.tiles - 1; j >= -1; --j) {  // V of a tile after K of the next
    if (j >= 0) {
      barrier_wait(shared.K_empty[keys.stage], keys.parity ^ 1);
      load(shared.K[keys.stage], k, shared.K_full[keys.stage], j * Bc, queries.kv_head);
      keys.next();
    }
    if (j == queries.tiles - 1) {
      put_ticket(shared, at.stage, at.parity, ticket, queries.tiles);
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
  for (Ring<QUERY_STAGES> at;; at.next()) {
    const int64_t ticket = static_cast<int64_t>(atomicAdd(schedule.next_ticket, 1));
    if (ticket >= schedule.tickets()) {
      put_ticket(shared, at.stage, at.parity, ticket, -1);
      return barrier_arrive(shared.Q_full[at.stage]);
    }
    produce(shared, queries_of(shape, schedule, ticket), q, k, v, keys, values, at, ticket);
  }
}

/// Three warps: transpose the tiles of V as they come, each about a third of a tile.
template <int D>
__device__ __forceinline__ void transpose_all(Shared<D>& shared) {
  const int warp = threadIdx.x / WARP - 1;
  Ring<STAGES> values;  // V's stages, and those of Vᵀ, too
  for (Ring<QUERY_STAGES> at;; at.next()) {
    barrier_wait(shared.Q_full[at.stage], at.parity);
    const int tiles = shared.tiles[at.stage];
    if (tiles < 0) return;
    barrier_arrive(shared.Q_empty[at.stage]);
    for (int j = 0; j < tiles; ++j, values.next()) {
      const int stage = values.stage;
      barrier_wait(shared.V_full[stage], values.parity);
      barrier_wait(shared.transposed_empty[stage], values.parity ^ 1);
      transpose(shared.transposed[stage], shared.V[stage], warp, TRANSPOSERS);
      fence_async_proxy();  // wgmma reads what this thread wrote
      __syncwarp();
      if (threadIdx.x % WARP == 0) {
        barrier_arrive(shared.V_empty[stage]);
        barrier_arrive(shared.transposed_full[stage]);
      }
    }
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
                                        const Rows<Br, D>& Q, Ring<STAGES>& keys,
                                        Ring<STAGES>& values) {
  float S[Bc / 2];
  uint32_t P[Bc / GROUP][4];
  const int row = static_cast<int>(i0 % Br), warpgroup = row / ROWS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Bc);
  if (tiles == 0) return;
  barrier_wait(shared.K_full[keys.stage], keys.parity);
  take_turn(warpgroup);
  multiply_keys<D, Bc>(S, Q, row, shared.K[keys.stage]);
  pass_turn(warpgroup);
  wgmma_wait<0>(S);
  release(shared.K_empty[keys.stage]);
  keys.next();
  if (tiles > whole) hide_masked(S, shape, i0, int64_t{tiles - 1} * Bc);
  shifted_softmax(S, sums, scale);  // O is 0
  round_weights(P, S);
  for (int j = tiles - 2; j >= 0; --j) {
    barrier_wait(shared.K_full[keys.stage], keys.parity);
    take_turn(warpgroup);
    multiply_keys<D, Bc>(S, Q, row, shared.K[keys.stage]);
    barrier_wait(shared.transposed_full[values.stage], values.parity);
    multiply_values<D, Bc>(O, P, shared.transposed[values.stage]);
    pass_turn(warpgroup);
    wgmma_wait<1>(S);
    release(shared.K_empty[keys.stage]);
    keys.next();
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Bc);
    const Rescale rescale = shifted_softmax(S, sums, scale);
    wgmma_wait<0>(O);
    release(shared.transposed_empty[values.stage]);
    values.next();
    round_weights(P, S);
    rescale_rows(O, rescale);
  }
  barrier_wait(shared.transposed_full[values.stage], values.parity);
  multiply_values<D, Bc>(O, P, shared.transposed[values.stage]);
  wgmma_wait<0>(O);
  release(shared.transposed_empty[values.stage]);
  values.next();
}

/// Has the warpgroup's rows of O stored while the next tile begins.
template <int D>
__device__ __forceinline__ void store_by_tma(const CUtensorMap& out, Boxes<Br, D>& place,
                                             const float (&O)[D / 2], int i0, int head) {
  const int warpgroup = i0 % Br / ROWS, all = 1 + CONSUMERS + warpgroup;  // barriers of its own
  bf16* const rows = place.box[0] + warpgroup * ROWS * COLUMNS;
  tma_wait_read<0>();  // the thread that stores: what was there has been read
  named_sync(all, WARPGROUP);
  put_rows(rows, Br * COLUMNS, O);
  fence_async_proxy();
  named_sync(all, WARPGROUP);
  if (threadIdx.x % WARPGROUP == 0) {
#pragma unroll
    for (int i = 0; i < Boxes<Br, D>::COUNT; ++i)
      tma_store(out, rows + i * Br * COLUMNS, {i * COLUMNS, i0, head});
    tma_commit();
  }
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    third_consumer_kernel(Attention shape, Schedule schedule, float scale, Scales scales,
                          const __grid_constant__ CUtensorMap q,
                          const __grid_constant__ CUtensorMap k,
                          const __grid_constant__ CUtensorMap v,
                          const __grid_constant__ CUtensorMap out, float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = aligned_shared<Shared<D>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();
  if (threadIdx.x < WARPGROUP) {
    give_registers<40>();
    if (threadIdx.x >= WARP)
      transpose_all(shared);
    else if (elect_one())
      produce_all(shared, shape, schedule, q, k, v);
    return;
  }
  take_registers<152>();
  const int warpgroup = threadIdx.x / WARPGROUP - 1;
  if (warpgroup == 2) pass_turn(2);  // the first turn is warpgroup 0's
  Ring<STAGES> keys, values;
  for (Ring<QUERY_STAGES> at;; at.next()) {
    barrier_wait(shared.Q_full[at.stage], at.parity);
    const int64_t ticket = shared.ticket[at.stage];
    if (ticket >= schedule.tickets()) return tma_wait_read<0>();
    const Queries queries = queries_of(shape, schedule, ticket);
    const int i0 = queries.i0 + warpgroup * ROWS;
    const float of_scores = scale * scales.q[queries.head] * scales.k[queries.kv_head];
    float O[D / 2] = {};
    Sums sums;
    consume(shared, O, sums, shape, queries.tiles, i0, of_scores, shared.Q[at.stage], keys, values);
    barrier_arrive(shared.Q_empty[at.stage]);
    finish(O, sums, scales.v[queries.kv_head], lse + queries.head * shape.Tq, i0, shape.Tq);
    store_by_tma(out, shared.O, O, i0, queries.head);
  }
}

}  // namespace

void third_consumer(const Attention& shape, const e4m3* q, const e4m3* k, const e4m3* v,
                    Scales scales, bf16* out, float* lse, Workspace workspace,
                    cudaStream_t stream) {
  require_supported(shape, "third_consumer", q, k, v, out);
  if (tile_sizes(third_consumer, shape).queries < Br)
    return transposed_as_loaded(shape, q, k, v, scales, out, lse, workspace, stream);
  with_padded_head_size<64>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>;
    const auto kernel = third_consumer_kernel<D>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    Schedule schedule = hopper::schedule_of(shape, Br);
    schedule.next_ticket = hopper::counter_from_0(shape, "third_consumer", workspace, stream);
    kernel<<<hopper::blocks_that_stay(schedule.tickets()), THREADS, BYTES, stream>>>(
        shape, schedule, LOG2_E * score_scale(shape), scales, queries_map(shape, q, Br, D),
        keys_map(shape, k, Bc, D, q), keys_map(shape, v, Bc, D, q),
        hopper::queries_map(shape, out, ROWS), lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::fp8
