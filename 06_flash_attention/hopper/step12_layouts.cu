// Step 12 = step 11 for tensors that lie as people have them: heads, tokens and sequences any
// number of elements apart, as in (B, T, NH, HS) or in a slice of a fused QKV. The maps get four
// dimensions in place of three, and a box's place is (column, token, head, sequence): where that is
// in memory the strides of the map say, and the kernel does not know. So nothing is copied before,
// or slower.
//
// Strides that TMA cannot take, no multiples of 16 bytes or 0, go to part tensor_cores' step
// layouts.
//
// FLOP            as step 11
// global memory   as step 5
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
//                 (Br as in step 11)
// shared memory   as step 11
// block           384 threads for 128 queries and a head, or 512 for 192, as many blocks as SMs
// long diff       the kernels of steps 10 and 11 become one, since both would change: what differs
//                 between them stands in Roles
#include "hopper/launch.hpp"
#include "hopper/schedule.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::hopper {
namespace {

/// Who does what, by padded head size and by how many warpgroups compute: 2, or 3 for heads up to
/// 64. Keys of a tile, places for queries, whether warpgroups take turns; registers of the thread
/// that loads, and of those that compute.
template <int HEAD_SIZE, int WARPGROUPS>
struct Roles {
  static constexpr int D = HEAD_SIZE, CONSUMERS = WARPGROUPS, STAGES = 2;
  static constexpr int Br = CONSUMERS * ROWS, THREADS = (1 + CONSUMERS) * WARPGROUP;
  static constexpr int Bc = D > 192 ? 80 : (D > 128 ? 112 : 128);
  static constexpr int QUERY_STAGES = D <= 128 ? 2 : 1;
  static constexpr bool TURNS = D <= 192;
  static constexpr int LOADER = CONSUMERS == 2 ? 24 : 32, CONSUMER = CONSUMERS == 2 ? 240 : 160;
};

template <class R>
struct Shared {
  Boxes<R::Br, R::D> Q[R::QUERY_STAGES];
  Boxes<R::Bc, R::D> K[R::STAGES], V[R::STAGES];
  Barrier Q_full[R::QUERY_STAGES], Q_empty[R::QUERY_STAGES];
  Barrier K_full[R::STAGES], V_full[R::STAGES], K_empty[R::STAGES], V_empty[R::STAGES];
  int64_t ticket[R::QUERY_STAGES];  // whose queries these are
};

template <class R>
__device__ __forceinline__ void make_barriers(Shared<R>& shared) {
  for (int stage = 0; stage < R::QUERY_STAGES; ++stage) {
    barrier_init(shared.Q_full[stage], 1);
    barrier_init(shared.Q_empty[stage], R::CONSUMERS * WARPGROUP);  // each thread reads the ticket
  }
  for (int stage = 0; stage < R::STAGES; ++stage) {
    barrier_init(shared.K_full[stage], 1);
    barrier_init(shared.V_full[stage], 1);
    barrier_init(shared.K_empty[stage], R::CONSUMERS);
    barrier_init(shared.V_empty[stage], R::CONSUMERS);
  }
  barrier_init_fence();
}

/// The queries of a ticket.
template <class R>
__device__ __forceinline__ Queries queries_of(const Attention& shape, const Schedule& schedule,
                                              int64_t ticket) {
  const auto [head, tile] = schedule.place(ticket);
  return Queries(shape, R::Br, R::Bc, head, tile * R::Br);
}

/// Waits until a place for queries is empty, and writes there whose queries come.
template <class R>
__device__ __forceinline__ void put_ticket(Shared<R>& shared, int place, int parity,
                                           int64_t ticket) {
  barrier_wait(shared.Q_empty[place], parity ^ 1);
  shared.ticket[place] = ticket;
}

/// One thread: begins the loads for a tile of queries, each as soon as its stage is empty. The last
/// keys, where the mask is, come first, and before the queries, whose place may not be empty yet.
template <class R>
__device__ __forceinline__ void produce(Shared<R>& shared, const Queries& queries, const HeadOf& of,
                                        const CUtensorMap& q, const CUtensorMap& k,
                                        const CUtensorMap& v, Ring<R::STAGES>& keys,
                                        Ring<R::STAGES>& values, const Ring<R::QUERY_STAGES>& at,
                                        int64_t ticket) {
  constexpr int Bc = R::Bc;
  for (int j = queries.tiles - 1; j >= -1; --j) {  // V of a tile after K of the next
    if (j >= 0) {
      barrier_wait(shared.K_empty[keys.stage], keys.parity ^ 1);
      load(shared.K[keys.stage], k, shared.K_full[keys.stage], j * Bc, of.kv_head, of.batch);
      keys.next();
    }
    if (j == queries.tiles - 1) {
      put_ticket(shared, at.stage, at.parity, ticket);
      load(shared.Q[at.stage], q, shared.Q_full[at.stage], queries.i0, of.head, of.batch);
    }
    if (j + 1 < queries.tiles) {
      barrier_wait(shared.V_empty[values.stage], values.parity ^ 1);
      load(shared.V[values.stage], v, shared.V_full[values.stage], (j + 1) * Bc, of.kv_head,
           of.batch);
      values.next();
    }
  }
}

/// One thread: takes tickets, and begins all its block's loads.
template <class R>
__device__ __forceinline__ void produce_all(Shared<R>& shared, const Attention& shape,
                                            const Schedule& schedule, const CUtensorMap& q,
                                            const CUtensorMap& k, const CUtensorMap& v) {
  Ring<R::STAGES> keys, values;
  for (Ring<R::QUERY_STAGES> at;; at.next()) {
    const int64_t ticket = static_cast<int64_t>(atomicAdd(schedule.next_ticket, 1));
    if (ticket >= schedule.tickets()) {
      put_ticket(shared, at.stage, at.parity, ticket);
      return barrier_arrive(shared.Q_full[at.stage]);
    }
    const Queries queries = queries_of<R>(shape, schedule, ticket);
    produce(shared, queries, HeadOf(shape, queries), q, k, v, keys, values, at, ticket);
  }
}

/// The turn goes round, where warpgroups take turns. Number 0 of the barriers is __syncthreads().
template <class R>
__device__ __forceinline__ void take_turn(int warpgroup) {
  if (R::TURNS) named_sync(1 + warpgroup, 2 * WARPGROUP);
}
template <class R>
__device__ __forceinline__ void pass_turn(int warpgroup) {
  if (R::TURNS) named_arrive(1 + (warpgroup + 1) % R::CONSUMERS, 2 * WARPGROUP);
}

/// A warpgroup: O and the sums of its 64 queries from i0 on.
template <class R>
__device__ __forceinline__ void consume(Shared<R>& shared, float (&O)[R::D / 2], Sums& sums,
                                        const Attention& shape, int tiles, int64_t i0, float scale,
                                        const Boxes<R::Br, R::D>& queries, Ring<R::STAGES>& keys,
                                        Ring<R::STAGES>& values) {
  constexpr int Br = R::Br, Bc = R::Bc, D = R::D;
  float S[Bc / 2];
  uint32_t P[Bc / 16][4];
  const int warpgroup = static_cast<int>(i0 % Br) / ROWS;
  const bf16* const Q = queries.box[0] + warpgroup * ROWS * COLUMNS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Bc);
  if (tiles == 0) return;
  barrier_wait(shared.K_full[keys.stage], keys.parity);
  take_turn<R>(warpgroup);
  multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[keys.stage]);
  pass_turn<R>(warpgroup);
  wgmma_wait<0>(S);
  release(shared.K_empty[keys.stage]);
  keys.next();
  if (tiles > whole) hide_masked(S, shape, i0, int64_t{tiles - 1} * Bc);
  softmax(S, sums, scale);  // O is 0
  round_weights(P, S);
  for (int j = tiles - 2; j >= 0; --j) {
    barrier_wait(shared.K_full[keys.stage], keys.parity);
    take_turn<R>(warpgroup);
    multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[keys.stage]);
    barrier_wait(shared.V_full[values.stage], values.parity);
    multiply_values<D, Bc>(O, P, shared.V[values.stage]);
    pass_turn<R>(warpgroup);
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
template <class R>
__device__ __forceinline__ void store_by_tma(const CUtensorMap& out, Boxes<R::Br, R::D>& place,
                                             Barrier& empty, const float (&O)[R::D / 2], int i0,
                                             const HeadOf& of) {
  constexpr int Br = R::Br, D = R::D;
  const int warpgroup = i0 % Br / ROWS, all = 1 + R::CONSUMERS + warpgroup;  // barriers of its own
  bf16* const rows = place.box[0] + warpgroup * ROWS * COLUMNS;
  named_sync(all, WARPGROUP);  // all warps are done with their queries
  put_rows(rows, Br * COLUMNS, O);
  fence_async_proxy();
  named_sync(all, WARPGROUP);
  if (threadIdx.x % WARPGROUP == 0) {
#pragma unroll
    for (int i = 0; i < Boxes<Br, D>::COUNT; ++i)
      tma_store(out, rows + i * Br * COLUMNS, {i * COLUMNS, i0, of.head, of.batch});
    tma_commit();
    tma_wait_read<0>();
  }
  barrier_arrive(empty);
}

template <class R>
__global__ void __launch_bounds__(R::THREADS, 1)
    layouts_kernel(Attention shape, Schedule schedule, float scale,
                   const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                   const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap out,
                   float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<R>& shared = aligned_shared<Shared<R>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();
  if (threadIdx.x < WARPGROUP) {
    give_registers<R::LOADER>();
    if (threadIdx.x < WARP && elect_one()) produce_all(shared, shape, schedule, q, k, v);
    return;
  }
  take_registers<R::CONSUMER>();
  const int warpgroup = threadIdx.x / WARPGROUP - 1;
  if (warpgroup == R::CONSUMERS - 1) pass_turn<R>(warpgroup);  // the first turn is warpgroup 0's
  Ring<R::STAGES> keys, values;
  for (Ring<R::QUERY_STAGES> at;; at.next()) {
    barrier_wait(shared.Q_full[at.stage], at.parity);
    const int64_t ticket = shared.ticket[at.stage];
    if (ticket >= schedule.tickets()) return;
    const Queries queries = queries_of<R>(shape, schedule, ticket);
    const int i0 = queries.i0 + warpgroup * ROWS;
    float O[R::D / 2] = {};
    Sums sums;
    consume(shared, O, sums, shape, queries.tiles, i0, scale, shared.Q[at.stage], keys, values);
    finish(O, sums, lse + queries.head * shape.Tq, i0, shape.Tq);
    store_by_tma<R>(out, shared.Q[at.stage], shared.Q_empty[at.stage], O, i0,
                    HeadOf(shape, queries));
  }
}

}  // namespace

void layouts(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
             float* lse, Workspace workspace, cudaStream_t stream) {
  tensor_cores::require_head_size(shape, "layouts", 256, STRIDES);
  const Attention there = tensor_cores::with_strides(shape);
  if (!all_rows_for_tma(there, q, k, v, out))
    return tensor_cores::layouts(shape, q, k, v, out, lse, stream);
  require_supported(shape, "layouts", 256, q, k, v, out, STRIDES);
  const auto launch = [&]<int D, int CONSUMERS>() {
    using R = Roles<D, CONSUMERS>;
    constexpr int BYTES = aligned_bytes<Shared<R>>;
    const auto kernel = layouts_kernel<R>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    Schedule schedule = schedule_of(shape, R::Br);
    schedule.next_ticket = counter_from_0(shape, "layouts", workspace, stream);
    const StridedMaps maps(there, q, k, v, out, R::Br, R::Bc);
    kernel<<<blocks_that_stay(schedule.tickets()), R::THREADS, BYTES, stream>>>(
        there, schedule, LOG2_E * score_scale(shape), maps.q, maps.k, maps.v, maps.out, lse);
    CUDA_CHECK_LAUNCH();
  };
  if (queries_of_block(shape) == 3 * ROWS) return launch.template operator()<64, 3>();
  with_padded_head_size<64, 96, 128, 192, 256>(
      shape.HS, [&]<int D>() { launch.template operator()<D, 2>(); });
}

}  // namespace tutorial::flash_attention::hopper
