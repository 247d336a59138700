// Step 1 = tensor_cores/lazy_rescale on Hopper's own units. One thread of a producer
// warpgroup has the TMA unit bring Q once, and tiles of K and V into a ring of two stages. Two
// consumers, warpgroups as well, take 64 queries each: wgmma reads Q, K and V from shared memory by
// itself, and P, the first operand of the second product, from registers. Barriers that count say
// when a tile has come, and when both consumers are done with it.
//
//   producer      K V   K V       K V       K V
//                  │ full           ▲ empty
//   consumer 0     ▼ S softmax PV   S softmax PV
//   consumer 1       S softmax PV   S softmax PV
//
// FLOP            4·B·NH·HS·Tq·Tk, for HS padded to 64 or 128; about half of that if causal
// global memory   as part tensor_cores
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   2·D·(128 + 4·128) bytes and the barriers: 163,840 for D = 128
// block           384 threads for 128 queries of a head: 168 registers a thread at most
// H200            0.975 ms for B 4, NH 16, T 4096, HS 128 full, 83 % of cuDNN
#include "hopper/launch.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::hopper {
namespace {

constexpr int CONSUMERS = 2;  // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int Br = CONSUMERS * ROWS, Bc = 128;  // queries of a block, keys of a tile
constexpr int STAGES = 2;

template <int D>
struct Shared {
  Boxes<Br, D> Q;
  Boxes<Bc, D> K[STAGES], V[STAGES];
  Barrier Q_full, K_full[STAGES], V_full[STAGES], K_empty[STAGES], V_empty[STAGES];
};

template <int D>
__device__ __forceinline__ void make_barriers(Shared<D>& shared) {
  barrier_init(shared.Q_full, 1);
  for (int stage = 0; stage < STAGES; ++stage) {
    barrier_init(shared.K_full[stage], 1);
    barrier_init(shared.V_full[stage], 1);
    barrier_init(shared.K_empty[stage], CONSUMERS);
    barrier_init(shared.V_empty[stage], CONSUMERS);
  }
  barrier_init_fence();
}

/// One thread: begins all loads, each as soon as its stage is empty. The last keys, where the mask
/// is, come first.
template <int D>
__device__ __forceinline__ void produce(Shared<D>& shared, const Queries& queries,
                                        const CUtensorMap& q, const CUtensorMap& k,
                                        const CUtensorMap& v) {
  load(shared.Q, q, shared.Q_full, queries.i0, queries.head);
  Ring<STAGES> at;
  for (int j = queries.tiles - 1; j >= 0; --j) {
    barrier_wait(shared.K_empty[at.stage], at.parity ^ 1);
    load(shared.K[at.stage], k, shared.K_full[at.stage], j * Bc, queries.kv_head);
    barrier_wait(shared.V_empty[at.stage], at.parity ^ 1);
    load(shared.V[at.stage], v, shared.V_full[at.stage], j * Bc, queries.kv_head);
    at.next();
  }
}

/// A warpgroup: O and the sums of its 64 queries from i0 on.
template <int D>
__device__ __forceinline__ void consume(Shared<D>& shared, float (&O)[D / 2], Sums& sums,
                                        const Attention& shape, int tiles, int64_t i0,
                                        float scale) {
  float S[Bc / 2];
  uint32_t P[Bc / 16][4];
  const bf16* const Q = shared.Q.box[0] + i0 % Br * COLUMNS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Bc);
  Ring<STAGES> at;
  barrier_wait(shared.Q_full, 0);
  for (int j = tiles - 1; j >= 0; --j) {
    barrier_wait(shared.K_full[at.stage], at.parity);
    multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[at.stage]);
    wgmma_wait<0>(S);
    release(shared.K_empty[at.stage]);
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Bc);
    rescale_rows(O, softmax(S, sums, scale));
    round_weights(P, S);
    barrier_wait(shared.V_full[at.stage], at.parity);
    multiply_values<D, Bc>(O, P, shared.V[at.stage]);
    wgmma_wait<0>(O);
    release(shared.V_empty[at.stage]);
    at.next();
  }
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    warpgroups_kernel(Attention shape, float scale, const __grid_constant__ CUtensorMap q,
                      const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v,
                      bf16* __restrict__ out, float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = aligned_shared<Shared<D>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();
  const int64_t blocks_of_head = ceil_div(shape.Tq, Br);
  const Queries queries(shape, Br, Bc, blockIdx.x / blocks_of_head,
                        blockIdx.x % blocks_of_head * Br);
  if (threadIdx.x < WARPGROUP) {
    if (threadIdx.x < WARP && elect_one()) produce(shared, queries, q, k, v);
  } else {
    const int64_t i0 = queries.i0 + (threadIdx.x / WARPGROUP - 1) * ROWS;
    float O[D / 2] = {};
    Sums sums;
    consume(shared, O, sums, shape, queries.tiles, i0, scale);
    finish(O, sums, lse + queries.head * shape.Tq, i0, shape.Tq);
    store(out + queries.head * shape.Tq * shape.HS, O, i0, shape.Tq, static_cast<int>(shape.HS));
  }
}

}  // namespace

void warpgroups(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse, Workspace, cudaStream_t stream) {
  require_supported(shape, "warpgroups", 128, q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>;
    const auto kernel = warpgroups_kernel<D>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    const unsigned blocks = query_blocks(shape, Br);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, THREADS, BYTES, stream>>>(shape, LOG2_E * score_scale(shape),
                                               queries_map(shape, q, Br), keys_map(shape, k, Bc, q),
                                               keys_map(shape, v, Bc, q), out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::hopper
