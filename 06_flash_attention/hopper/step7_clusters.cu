// Step 7 = step 6 + clusters: two blocks that have neighbouring queries of a head need the same
// keys. Each loads half of every tile, and TMA puts it into both. So the L2 cache has to bring half
// as much, and a stage is empty when the consumers of both blocks are done with it.
//
//   block 0   Q rows 0 … 127      K of tile j: half 0 ──▶ both     V of tile j: half 0 ──▶ both
//   block 1   Q rows 128 … 255                 half 1 ──▶ both                  half 1 ──▶ both
//
// The two have to see the same keys, so there is no mask. Then all tiles of queries are as long,
// and nobody needs tickets: of P pairs pair p takes p, p + P, …. What else there is goes to step 6:
// a mask, head sizes up to 128, where pairs lose more than they gain, and so few queries that a
// pair's second block would often have none.
//
// FLOP            as step 6
// global memory   as step 6
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/Bp⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
//                 (Bp is 256, the queries of a pair; where step 6 does it, its Br)
// shared memory   as step 6
// block           as step 6; a cluster is two blocks
// H200            not measured
#include "common/kernel/cluster.cuh"
#include "hopper/launch.hpp"
#include "hopper/schedule.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::hopper {
namespace {

constexpr int STAGES = 2;
constexpr int CLUSTER = 2;  // blocks, which have neighbouring queries
constexpr unsigned EVERY_BLOCK = (1u << CLUSTER) - 1;

/// The tiles of a head size.
template <int HEAD_SIZE>
struct Sized {
  static constexpr int D = HEAD_SIZE, CONSUMERS = 2;  // warpgroups
  static constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
  static constexpr int Br = CONSUMERS * ROWS, Bc = D <= 192 ? 112 : 80;
  static constexpr int QUERY_STAGES = 1;
  static constexpr bool TURNS = D <= 192;
  // Registers a thread of the producer, who has more to know than in step 6, and of the others.
  static constexpr int FEW = 40, MANY = 232;
};

template <class Tile>
struct Shared {
  Boxes<Tile::Br, Tile::D> Q[Tile::QUERY_STAGES];
  Boxes<Tile::Bc, Tile::D> K[STAGES], V[STAGES];
  Barrier Q_full[Tile::QUERY_STAGES], Q_empty[Tile::QUERY_STAGES];
  Barrier K_full[STAGES], V_full[STAGES], K_empty[STAGES], V_empty[STAGES];
};

template <class Tile>
__device__ __forceinline__ void make_barriers(Shared<Tile>& shared) {
  for (int stage = 0; stage < Tile::QUERY_STAGES; ++stage) {
    barrier_init(shared.Q_full[stage], 1);
    barrier_init(shared.Q_empty[stage], Tile::CONSUMERS);
  }
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(shared.K_full[stage], 1);
    barrier_init(shared.V_full[stage], 1);
    barrier_init(shared.K_empty[stage], CLUSTER * Tile::CONSUMERS);
    barrier_init(shared.V_empty[stage], CLUSTER * Tile::CONSUMERS);
  }
  barrier_init_fence();
}

/// This block's queries of its pair's ticket: of the pair's rows the first half or the second.
template <class Tile>
__device__ __forceinline__ Queries queries_of(const Attention& shape, const Schedule& schedule,
                                              int64_t ticket) {
  const auto [head, tile] = schedule.place(ticket);
  return Queries(shape, Tile::Br, Tile::Bc, head, (tile * CLUSTER + cluster_rank()) * Tile::Br);
}

/// By one thread of each block: begins to load its half of rows `row` … of a head into both blocks.
/// The tile's bytes, its own half and the other's, arrive at `full`.
template <int R, int D>
__device__ __forceinline__ void load_for_both(Boxes<R, D>& tile, const CUtensorMap& map,
                                              Barrier& full, int row, int head) {
  const int half = cluster_rank() * (R / CLUSTER);
  barrier_arrive_expect(full, Boxes<R, D>::BYTES);
#pragma unroll
  for (int i = 0; i < Boxes<R, D>::COUNT; ++i)
    tma_load_multicast(tile.box[i] + half * COLUMNS, map, full, {i * COLUMNS, row + half, head},
                       EVERY_BLOCK);
}

/// Once for 128 threads: they are done with a stage, into which both blocks load.
__device__ __forceinline__ void release_for_both(Barrier& empty) {
  const int block = threadIdx.x % WARPGROUP;  // thread 0 tells block 0, thread 1 block 1
  if (block < CLUSTER) barrier_arrive_at(empty, block);
}

/// One thread: begins all loads, each as soon as its stage is empty. The last keys come first, and
/// before the queries, whose place may not be empty yet.
template <class Tile>
__device__ __forceinline__ void produce(Shared<Tile>& shared, const Attention& shape,
                                        const Schedule& schedule, const CUtensorMap& q,
                                        const CUtensorMap& k, const CUtensorMap& v) {
  Ring<STAGES> keys, values;
  Ring<Tile::QUERY_STAGES> at;
  for (int64_t ticket = blockIdx.x / CLUSTER; ticket < schedule.tickets();
       ticket += gridDim.x / CLUSTER, at.next()) {
    const Queries queries = queries_of<Tile>(shape, schedule, ticket);
    for (int j = queries.tiles - 1; j >= -1; --j) {  // V of a tile after K of the next
      if (j >= 0) {
        barrier_wait(shared.K_empty[keys.stage], keys.parity ^ 1);
        load_for_both(shared.K[keys.stage], k, shared.K_full[keys.stage], j * Tile::Bc,
                      queries.kv_head);
        keys.next();
      }
      if (j == queries.tiles - 1) {
        barrier_wait(shared.Q_empty[at.stage], at.parity ^ 1);
        load(shared.Q[at.stage], q, shared.Q_full[at.stage], queries.i0, queries.head);
      }
      if (j + 1 < queries.tiles) {
        barrier_wait(shared.V_empty[values.stage], values.parity ^ 1);
        load_for_both(shared.V[values.stage], v, shared.V_full[values.stage], (j + 1) * Tile::Bc,
                      queries.kv_head);
        values.next();
      }
    }
  }
}

/// The turns go round. Number 0 of the barriers is __syncthreads().
template <class Tile>
__device__ __forceinline__ void take_turn(int warpgroup) {
  if (Tile::TURNS) named_sync(1 + warpgroup, 2 * WARPGROUP);
}
template <class Tile>
__device__ __forceinline__ void pass_turn(int warpgroup) {
  if (Tile::TURNS) named_arrive(1 + (warpgroup + 1) % Tile::CONSUMERS, 2 * WARPGROUP);
}

/// A warpgroup: O and the sums of its 64 queries from i0 on.
template <class Tile>
__device__ __forceinline__ void consume(Shared<Tile>& shared, float (&O)[Tile::D / 2], Sums& sums,
                                        const Attention& shape, int tiles, int64_t i0, float scale,
                                        const Boxes<Tile::Br, Tile::D>& queries, Ring<STAGES>& keys,
                                        Ring<STAGES>& values) {
  float S[Tile::Bc / 2];
  uint32_t P[Tile::Bc / 16][4];
  const int warpgroup = static_cast<int>(i0 % Tile::Br) / ROWS;
  const bf16* const Q = queries.box[0] + warpgroup * ROWS * COLUMNS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Tile::Bc);
  if (tiles == 0) return;
  barrier_wait(shared.K_full[keys.stage], keys.parity);
  take_turn<Tile>(warpgroup);
  multiply_keys<Tile::D, Tile::Bc>(S, Q, Tile::Br * COLUMNS, shared.K[keys.stage]);
  pass_turn<Tile>(warpgroup);
  wgmma_wait<0>(S);
  release_for_both(shared.K_empty[keys.stage]);
  keys.next();
  if (tiles > whole) hide_masked(S, shape, i0, int64_t{tiles - 1} * Tile::Bc);
  softmax(S, sums, scale);  // O is 0
  round_weights(P, S);
  for (int j = tiles - 2; j >= 0; --j) {
    barrier_wait(shared.K_full[keys.stage], keys.parity);
    take_turn<Tile>(warpgroup);
    multiply_keys<Tile::D, Tile::Bc>(S, Q, Tile::Br * COLUMNS, shared.K[keys.stage]);
    barrier_wait(shared.V_full[values.stage], values.parity);
    multiply_values<Tile::D, Tile::Bc>(O, P, shared.V[values.stage]);
    pass_turn<Tile>(warpgroup);
    wgmma_wait<1>(S);
    release_for_both(shared.K_empty[keys.stage]);
    keys.next();
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Tile::Bc);
    const Rescale rescale = softmax(S, sums, scale);
    wgmma_wait<0>(O);
    release_for_both(shared.V_empty[values.stage]);
    values.next();
    round_weights(P, S);
    multiply(O, rescale);
  }
  barrier_wait(shared.V_full[values.stage], values.parity);
  multiply_values<Tile::D, Tile::Bc>(O, P, shared.V[values.stage]);
  wgmma_wait<0>(O);
  release_for_both(shared.V_empty[values.stage]);
  values.next();
}

/// Has the warpgroup's rows of O stored, by way of the place of its queries, which is empty then.
template <class Tile>
__device__ __forceinline__ void store_by_tma(const CUtensorMap& out,
                                             Boxes<Tile::Br, Tile::D>& place, Barrier& empty,
                                             const float (&O)[Tile::D / 2], int i0, int head) {
  const int warpgroup = i0 % Tile::Br / ROWS,
            all = 1 + Tile::CONSUMERS + warpgroup;  // a barrier of its own
  bf16* const rows = place.box[0] + warpgroup * ROWS * COLUMNS;
  named_sync(all, WARPGROUP);  // all warps are done with their queries
  put_rows(rows, Tile::Br * COLUMNS, O);
  fence_async_proxy();
  named_sync(all, WARPGROUP);
  if (threadIdx.x % WARPGROUP != 0) return;
#pragma unroll
  for (int i = 0; i < Boxes<Tile::Br, Tile::D>::COUNT; ++i)
    tma_store(out, rows + i * Tile::Br * COLUMNS, {i * COLUMNS, i0, head});
  tma_commit();
  tma_wait_read<0>();
  barrier_arrive(empty);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    clusters_kernel(Attention shape, Schedule schedule, float scale,
                    const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                    const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap out,
                    float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<Tile>& shared = aligned_shared<Shared<Tile>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  cluster_sync();
  if (threadIdx.x < WARPGROUP) {
    give_registers<Tile::FEW>();
    if (threadIdx.x < WARP && elect_one()) produce(shared, shape, schedule, q, k, v);
  } else {
    take_registers<Tile::MANY>();
    const int warpgroup = threadIdx.x / WARPGROUP - 1;
    if (warpgroup == Tile::CONSUMERS - 1)
      pass_turn<Tile>(warpgroup);  // the first turn is warpgroup 0's
    Ring<STAGES> keys, values;
    Ring<Tile::QUERY_STAGES> at;
    for (int64_t ticket = blockIdx.x / CLUSTER; ticket < schedule.tickets();
         ticket += gridDim.x / CLUSTER, at.next()) {
      const Queries queries = queries_of<Tile>(shape, schedule, ticket);
      const int i0 = queries.i0 + warpgroup * ROWS;
      float O[Tile::D / 2] = {};
      Sums sums;
      barrier_wait(shared.Q_full[at.stage], at.parity);
      consume(shared, O, sums, shape, queries.tiles, i0, scale, shared.Q[at.stage], keys, values);
      finish(O, sums, lse + queries.head * shape.Tq, i0, shape.Tq);
      store_by_tma<Tile>(out, shared.Q[at.stage], shared.Q_empty[at.stage], O, i0, queries.head);
    }
  }
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

template <class Tile>
void launch(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
            float* lse) {
  constexpr int BYTES = aligned_bytes<Shared<Tile>>, HALF = Tile::Bc / CLUSTER;
  const auto kernel = clusters_kernel<Tile>;
  allow_shared_memory(kernel, BYTES, "head size", shape.HS);
  if (shape.rows() * shape.HS == 0) return;
  const Schedule schedule = schedule_of(shape, CLUSTER * Tile::Br);
  const unsigned blocks = blocks_that_stay(CLUSTER * schedule.tickets()) / CLUSTER * CLUSTER;
  launch_clusters(kernel, CLUSTER, dim3(blocks), dim3(Tile::THREADS), BYTES, shape, schedule,
                  LOG2_E * score_scale(shape), queries_map(shape, q, Tile::Br),
                  keys_map(shape, k, HALF, q), keys_map(shape, v, HALF, q),
                  queries_map(shape, out, ROWS), lse);
}

}  // namespace

// The pair's second block may have no queries; then the first one's time is its time, too.
bool takes_pairs(const Attention& shape) {
  const int64_t tiles = ceil_div(shape.Tq, 2 * ROWS);
  return !shape.causal && shape.HS > 128 && 10 * ceil_div(tiles, CLUSTER) * CLUSTER <= 11 * tiles;
}

void clusters(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
              float* lse) {
  if (!takes_pairs(shape) || !tensor_cores::all_aligned(q, k, v, out))
    return head_sizes(shape, q, k, v, out, lse);
  require_supported(shape, "clusters", 256, q, k, v, out);
  with_padded_head_size<192, 256>(shape.HS,
                                  [&]<int D>() { launch<Sized<D>>(shape, q, k, v, out, lse); });
}

}  // namespace tutorial::flash_attention::hopper
