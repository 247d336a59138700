// Step 8 = step 7 for every head size that is a multiple of 8, up to 256: the tiles of each are
// those that its registers and shared memory have room for. Above 128 tiles of keys are short, and
// Q has one place. Above 192 there are no turns: the products take so much longer than the softmax.
//
// A size between is padded with zeros that TMA makes, so it costs products, and no memory. What TMA
// cannot take, tensors that do not begin at a multiple of 16 bytes, goes to part tensor_cores' step
// any_address.
//
//   head size up to   64    96   128   192   256
//   consumers        3, 2    2     2     2     2
//   keys of a tile   128   128   128   112    80
//   places for Q       2     2     2     1     1
//
// FLOP            as step 1, for HS padded to one of these
// global memory   as step 4
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
//                 (Br is 64 for each consumer)
// shared memory   112 KB or 96 KB for HS <= 64, else 192 KB to 224 KB
// block           as step 7
// H200            1.40 ms for B 4, NH 16, T 4096, HS 256 full, 108 % of cuDNN
#include "hopper/launch.hpp"
#include "hopper/schedule.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::hopper {
namespace {

constexpr int STAGES = 2;

/// A block for a head size, with so many consumers.
template <int HEAD_SIZE, int WARPGROUPS>
struct Block {
  static constexpr int D = HEAD_SIZE, CONSUMERS = WARPGROUPS;
  static constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
  static constexpr int Br = CONSUMERS * ROWS;                      // queries
  static constexpr int Bc = D <= 128 ? 128 : D <= 192 ? 112 : 80;  // keys of a tile
  static constexpr int QUERY_STAGES = D <= 128 ? 2 : 1;
  static constexpr bool TURNS = D <= 192;
  // Registers a thread of the producer and of the others: 65536 an SM.
  static constexpr int FEW = CONSUMERS == 3 ? 32 : 24, MANY = CONSUMERS == 3 ? 160 : 240;
};

template <class Block>
struct Shared {
  Boxes<Block::Br, Block::D> Q[Block::QUERY_STAGES];
  Boxes<Block::Bc, Block::D> K[STAGES], V[STAGES];
  Barrier Q_full[Block::QUERY_STAGES], Q_empty[Block::QUERY_STAGES];
  Barrier K_full[STAGES], V_full[STAGES], K_empty[STAGES], V_empty[STAGES];
  int64_t ticket[Block::QUERY_STAGES];  // whose queries these are
};

/// The next ticket. The launcher begins with 0.
__device__ unsigned long long next_ticket;

template <class Block>
__device__ __forceinline__ void make_barriers(Shared<Block>& shared) {
  for (int stage = 0; stage < Block::QUERY_STAGES; ++stage) {
    barrier_init(shared.Q_full[stage], 1);
    barrier_init(shared.Q_empty[stage], Block::CONSUMERS * WARPGROUP);  // all read the ticket
  }
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(shared.K_full[stage], 1);
    barrier_init(shared.V_full[stage], 1);
    barrier_init(shared.K_empty[stage], Block::CONSUMERS);
    barrier_init(shared.V_empty[stage], Block::CONSUMERS);
  }
  barrier_init_fence();
}

/// The queries of a ticket.
template <class Block>
__device__ __forceinline__ Queries queries_of(const Attention& shape, const Schedule& schedule,
                                              int64_t ticket) {
  const auto [head, tile] = schedule.place(ticket);
  return Queries(shape, Block::Br, Block::Bc, head, tile * Block::Br);
}

/// Waits until a place for queries is empty, and writes there whose queries come.
template <class Block>
__device__ __forceinline__ void put_ticket(Shared<Block>& shared, int place, int parity,
                                           int64_t ticket) {
  barrier_wait(shared.Q_empty[place], parity ^ 1);
  shared.ticket[place] = ticket;
}

/// One thread: takes tickets and begins all loads, each as soon as its stage is empty. The last
/// keys, where the mask is, come first, and before the queries, whose place may not be empty yet.
template <class Block>
__device__ __forceinline__ void produce(Shared<Block>& shared, const Attention& shape,
                                        const Schedule& schedule, const CUtensorMap& q,
                                        const CUtensorMap& k, const CUtensorMap& v) {
  constexpr int Bc = Block::Bc;
  Ring<STAGES> keys, values;
  for (Ring<Block::QUERY_STAGES> at;; at.next()) {
    const int64_t ticket = static_cast<int64_t>(atomicAdd(&next_ticket, 1));
    if (ticket >= schedule.tickets()) {
      put_ticket(shared, at.stage, at.parity, ticket);
      return barrier_arrive(shared.Q_full[at.stage]);
    }
    const Queries queries = queries_of<Block>(shape, schedule, ticket);
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
}

/// The turn goes round. Number 0 of the barriers is __syncthreads().
template <class Block>
__device__ __forceinline__ void take_turn(int warpgroup) {
  if (Block::TURNS) named_sync(1 + warpgroup, 2 * WARPGROUP);
}
template <class Block>
__device__ __forceinline__ void pass_turn(int warpgroup) {
  if (Block::TURNS) named_arrive(1 + (warpgroup + 1) % Block::CONSUMERS, 2 * WARPGROUP);
}

/// A warpgroup: O and the sums of its 64 queries from i0 on.
template <class Block>
__device__ __forceinline__ void consume(Shared<Block>& shared, float (&O)[Block::D / 2], Sums& sums,
                                        const Attention& shape, int tiles, int64_t i0, float scale,
                                        const Boxes<Block::Br, Block::D>& queries,
                                        Ring<STAGES>& keys, Ring<STAGES>& values) {
  constexpr int D = Block::D, Br = Block::Br, Bc = Block::Bc;
  float S[Bc / 2];
  uint32_t P[Bc / 16][4];
  const int warpgroup = static_cast<int>(i0 % Br) / ROWS;
  const bf16* const Q = queries.box[0] + warpgroup * ROWS * COLUMNS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Bc);
  if (tiles == 0) return;
  barrier_wait(shared.K_full[keys.stage], keys.parity);
  take_turn<Block>(warpgroup);
  multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[keys.stage]);
  pass_turn<Block>(warpgroup);
  wgmma_wait<0>(S);
  release(shared.K_empty[keys.stage]);
  keys.next();
  if (tiles > whole) hide_masked(S, shape, i0, int64_t{tiles - 1} * Bc);
  softmax(S, sums, scale);  // O is 0
  round_weights(P, S);
  for (int j = tiles - 2; j >= 0; --j) {
    barrier_wait(shared.K_full[keys.stage], keys.parity);
    take_turn<Block>(warpgroup);
    multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[keys.stage]);
    barrier_wait(shared.V_full[values.stage], values.parity);
    multiply_values<D, Bc>(O, P, shared.V[values.stage]);
    pass_turn<Block>(warpgroup);
    wgmma_wait<1>(S);
    release(shared.K_empty[keys.stage]);
    keys.next();
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Bc);
    const Rescale rescale = softmax(S, sums, scale);
    wgmma_wait<0>(O);
    release(shared.V_empty[values.stage]);
    values.next();
    round_weights(P, S);
    multiply(O, rescale);
  }
  barrier_wait(shared.V_full[values.stage], values.parity);
  multiply_values<D, Bc>(O, P, shared.V[values.stage]);
  wgmma_wait<0>(O);
  release(shared.V_empty[values.stage]);
  values.next();
}

/// Has the warpgroup's rows of O stored, by way of the place of its queries, which is empty then.
template <class Block>
__device__ __forceinline__ void store_by_tma(const CUtensorMap& out,
                                             Boxes<Block::Br, Block::D>& place, Barrier& empty,
                                             const float (&O)[Block::D / 2], int i0, int head) {
  constexpr int D = Block::D, Br = Block::Br;
  const int warpgroup = i0 % Br / ROWS,
            all = 1 + Block::CONSUMERS + warpgroup;  // a barrier of its own
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

template <class Block>
__global__ void __launch_bounds__(Block::THREADS, 1)
    head_sizes_kernel(Attention shape, Schedule schedule, float scale,
                      const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                      const __grid_constant__ CUtensorMap v,
                      const __grid_constant__ CUtensorMap out, float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<Block>& shared = aligned_shared<Shared<Block>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();
  if (threadIdx.x < WARPGROUP) {
    give_registers<Block::FEW>();
    if (threadIdx.x < WARP && elect_one()) produce(shared, shape, schedule, q, k, v);
    return;
  }
  take_registers<Block::MANY>();
  const int warpgroup = threadIdx.x / WARPGROUP - 1;
  constexpr int LAST = Block::CONSUMERS - 1;
  if (warpgroup == LAST) pass_turn<Block>(LAST);  // the first turn is warpgroup 0's
  Ring<STAGES> keys, values;
  for (Ring<Block::QUERY_STAGES> at;; at.next()) {
    barrier_wait(shared.Q_full[at.stage], at.parity);
    const int64_t ticket = shared.ticket[at.stage];
    if (ticket >= schedule.tickets()) return;
    const Queries queries = queries_of<Block>(shape, schedule, ticket);
    const int i0 = queries.i0 + warpgroup * ROWS;
    float O[Block::D / 2] = {};
    Sums sums;
    consume(shared, O, sums, shape, queries.tiles, i0, scale, shared.Q[at.stage], keys, values);
    finish(O, sums, lse + queries.head * shape.Tq, i0, shape.Tq);
    store_by_tma<Block>(out, shared.Q[at.stage], shared.Q_empty[at.stage], O, i0, queries.head);
  }
}

template <class Block>
void launch(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
            float* lse) {
  constexpr int BYTES = aligned_bytes<Shared<Block>>;
  const auto kernel = head_sizes_kernel<Block>;
  allow_shared_memory(kernel, BYTES, "head size", shape.HS);
  if (shape.rows() * shape.HS == 0) return;
  const Schedule schedule = schedule_of(shape, Block::Br);
  void* tickets = nullptr;
  CUDA_CHECK(cudaGetSymbolAddress(&tickets, next_ticket));
  CUDA_CHECK(cudaMemsetAsync(tickets, 0, sizeof(next_ticket)));
  kernel<<<blocks_that_stay(schedule.tickets()), Block::THREADS, BYTES>>>(
      shape, schedule, LOG2_E * score_scale(shape), queries_map(shape, q, Block::Br),
      keys_map(shape, k, Block::Bc, q), keys_map(shape, v, Block::Bc, q),
      queries_map(shape, out, ROWS), lse);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void head_sizes(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse) {
  if (!tensor_cores::all_aligned(q, k, v, out))
    return tensor_cores::any_address(shape, q, k, v, out, lse);
  require_supported(shape, "head_sizes", 256, q, k, v, out);
  if (queries_of_block(shape) == 3 * ROWS) return launch<Block<64, 3>>(shape, q, k, v, out, lse);
  with_padded_head_size<64, 96, 128, 192, 256>(
      shape.HS, [&]<int D>() { launch<Block<D, 2>>(shape, q, k, v, out, lse); });
}

}  // namespace tutorial::flash_attention::hopper
