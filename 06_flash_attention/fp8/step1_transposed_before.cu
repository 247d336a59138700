// Step 1 = step 9 of part hopper (tile_stores) + numbers of 8 bits. A product of tensor cores sums
// over 32 of them where it sums over 16 of 16 bits, in the same time; and rows of both operands
// must run along what is summed over. Rows of Q and K do, along the head size. P·V sums over keys,
// and rows of V do not run along those. So a kernel first writes Vᵀ to the workspace. It puts the
// keys in the order that P's registers have (words.cuh), so that P needs no word to other lanes.
//
//   V (keys, HS) ──transpose_values──▶ Vᵀ (HS, keys in order) ──TMA──▶ P·V
//
// The softmax multiplies scores by scale_q·scale_k besides, the end O by scale_v. O has a place of
// its own: it is twice as large as Q's.
//
// FLOP            4·HS a visible pair of query and key
// global memory   B·HS·(NH·Tq + 2·NH_kv·Tk) bytes read, 2·B·NH·Tq·HS + 4·B·NH·Tq written; V once
//                 more read, and Vᵀ written
// asked for       loads B·NH·(HS·(Tq + (Tk + 32·⌈Tk/32⌉)·⌈Tq/128⌉) + 24·128·⌈Tq/128⌉) bytes,
//                 stores 2·B·NH·Tq·(HS + 2) bytes
// asked for by transpose_values   loads B·NH_kv·HS·Tk bytes, stores B·NH_kv·HS·32·⌈Tk/32⌉ bytes
// shared memory   128·(2·128 + 4·128) + 2·128·128 bytes and the barriers: 131,072
// block           384 threads for 128 queries and a head, as many blocks as SMs
#include "fp8/launch.hpp"
#include "fp8/words.cuh"
#include "hopper/schedule.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

using hopper::Schedule;

constexpr int CONSUMERS = 2;  // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int Br = CONSUMERS * ROWS, Bc = 128;  // queries of a block, keys of a tile
constexpr int STAGES = 2, QUERY_STAGES = 2;

// ---- Vᵀ

constexpr int KEYS = 128, TRANSPOSERS = 256;  // of a block: keys, threads

/// A block: 128 keys of a head of V (Tk, HS) as columns of Vᵀ (HS, padded), in groups of 32 whose
/// keys have the order of key_of_place(). Keys from Tk on are zeros: a weight of 0 is multiplied by
/// them, and 0 times a NaN that happens to lie there would be NaN.
__global__ void __launch_bounds__(TRANSPOSERS)
    transpose_values(const e4m3* __restrict__ v, int64_t blocks_of_head, int Tk, int HS, int padded,
                     e4m3* __restrict__ transposed) {
  alignas(16) __shared__ unsigned char tile[KEYS * 128];  // (KEYS, HS)
  const int64_t head = blockIdx.x / blocks_of_head;
  const int first = static_cast<int>(blockIdx.x % blocks_of_head) * KEYS;
  const int pieces = HS / 16;  // of a row
  const uint4* const from = reinterpret_cast<const uint4*>(v + head * Tk * HS);
  for (int i = threadIdx.x; i < KEYS * pieces; i += TRANSPOSERS) {
    const uint4 zeros = {};
    reinterpret_cast<uint4*>(tile)[i] =
        first + i / pieces < Tk ? from[int64_t{first} * pieces + i] : zeros;
  }
  __syncthreads();
  // A thread makes a group of a row: 32 bytes, what memory moves at a time.
  for (int i = threadIdx.x; i < HS * (KEYS / GROUP); i += TRANSPOSERS) {
    const int d = i % HS, group = i / HS * GROUP;
    if (first + group >= padded) continue;
    uint32_t words[GROUP / 4];
#pragma unroll
    for (int word = 0; word < GROUP / 4; ++word) {
      words[word] = 0;
#pragma unroll
      for (int b = 0; b < 4; ++b)
        words[word] |= uint32_t{tile[(group + key_of_place(4 * word + b)) * HS + d]} << 8 * b;
    }
    auto* const to =
        reinterpret_cast<uint4*>(transposed + (head * HS + d) * int64_t{padded} + first + group);
    to[0] = {words[0], words[1], words[2], words[3]};
    to[1] = {words[4], words[5], words[6], words[7]};
  }
}

// ---- Attention

template <int D>
struct Shared {
  Rows<Br, D> Q[QUERY_STAGES];
  Rows<Bc, D> K[STAGES];
  Columns<Bc, D> V[STAGES];
  Boxes<Br, D> O;
  Barrier Q_full[QUERY_STAGES], Q_empty[QUERY_STAGES];
  Barrier K_full[STAGES], V_full[STAGES], K_empty[STAGES], V_empty[STAGES];
  int64_t ticket[QUERY_STAGES];  // whose queries these are
};

template <int D>
__device__ __forceinline__ void make_barriers(Shared<D>& shared) {
  for (int stage = 0; stage < QUERY_STAGES; ++stage) {
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
__device__ __forceinline__ Queries queries_of(const Attention& shape, const Schedule& schedule,
                                              int64_t ticket) {
  const auto [head, tile] = schedule.place(ticket);
  return Queries(shape, Br, Bc, head, tile * Br);
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
                                        Ring<STAGES>& values, const Ring<QUERY_STAGES>& at,
                                        int64_t ticket) {
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
  for (Ring<QUERY_STAGES> at;; at.next()) {
    const int64_t ticket = static_cast<int64_t>(atomicAdd(schedule.next_ticket, 1));
    if (ticket >= schedule.tickets()) {
      put_ticket(shared, at.stage, at.parity, ticket);
      return barrier_arrive(shared.Q_full[at.stage]);
    }
    produce(shared, queries_of(shape, schedule, ticket), q, k, v, keys, values, at, ticket);
  }
}

/// The turn of warpgroup 0 or 1. Number 0 of the barriers is __syncthreads().
__device__ __forceinline__ void take_turn(int warpgroup) {
  named_sync(1 + warpgroup, 2 * WARPGROUP);
}
__device__ __forceinline__ void pass_turn(int warpgroup) {
  named_arrive(2 - warpgroup, 2 * WARPGROUP);
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
    barrier_wait(shared.V_full[values.stage], values.parity);
    multiply_values<D, Bc>(O, P, shared.V[values.stage]);
    pass_turn(warpgroup);
    wgmma_wait<1>(S);
    release(shared.K_empty[keys.stage]);
    keys.next();
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Bc);
    const Rescale rescale = shifted_softmax(S, sums, scale);
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
    transposed_before_kernel(Attention shape, Schedule schedule, float scale, Scales scales,
                             const __grid_constant__ CUtensorMap q,
                             const __grid_constant__ CUtensorMap k,
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
  if (warpgroup == 1) pass_turn(1);  // the first turn is warpgroup 0's
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

void transposed_before(const Attention& shape, const e4m3* q, const e4m3* k, const e4m3* v,
                       Scales scales, bf16* out, float* lse, Workspace workspace,
                       cudaStream_t stream) {
  require_supported(shape, "transposed_before", q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>;
    const auto kernel = transposed_before_kernel<D>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    require_workspace(workspace, workspace_bytes(shape), "transposed_before");
    const int64_t heads = shape.B * shape.NH_kv, padded = padded_keys(shape);
    e4m3* const transposed = workspace.take<e4m3>(heads * shape.HS * padded);
    const int64_t blocks_of_head = ceil_div(shape.Tk, KEYS);
    const unsigned blocks = grid_blocks(heads * blocks_of_head);
    Schedule schedule = hopper::schedule_of(shape, Br);
    schedule.next_ticket = hopper::counter_from_0(shape, "transposed_before", workspace, stream);
    if (blocks > 0) {
      transpose_values<<<blocks, TRANSPOSERS, 0, stream>>>(
          v, blocks_of_head, static_cast<int>(shape.Tk), static_cast<int>(shape.HS),
          static_cast<int>(padded), transposed);
      CUDA_CHECK_LAUNCH();
    }
    kernel<<<hopper::blocks_that_stay(schedule.tickets()), THREADS, BYTES, stream>>>(
        shape, schedule, LOG2_E * score_scale(shape), scales, queries_map(shape, q, Br, D),
        keys_map(shape, k, Bc, D, q), columns_map(shape, transposed, Columns<Bc, D>::KEYS, D, q),
        hopper::queries_map(shape, out, ROWS), lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::fp8
