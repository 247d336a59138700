// Step 3 = step 2 + the two consumers take turns at the tensor cores. One issues what it has for
// them, P·V of a tile and S of the next, and says so; then it has its softmax, while the other
// one's products run. In step 2 both may have theirs together, and tensor cores are idle then.
// A named barrier a consumer: who wants a turn waits at its own, who has had one arrives at the
// other's.
//
//   consumer 0    ▕P·V S▏softmax  ▕P·V S▏softmax  ▕
//   consumer 1     softmax ▕P·V S▏softmax  ▕P·V S▏
//
// FLOP            as step 1
// global memory   as step 1
// asked for       loads 2·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   as step 1
// block           as step 2
// H200            0.868 ms for B 4, NH 16, T 4096, HS 128 full, 93 % of cuDNN
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
                                        const Attention& shape, int tiles, int64_t i0,
                                        float scale) {
  float S[Bc / 2];
  uint32_t P[Bc / 16][4];
  const int warpgroup = static_cast<int>(i0 % Br) / ROWS;
  const bf16* const Q = shared.Q.box[0] + warpgroup * ROWS * COLUMNS;
  // Every row of the warpgroup sees the first `whole` tiles to their end.
  const int whole = static_cast<int>(shape.visible_keys(i0) / Bc);
  Ring<STAGES> at;
  if (warpgroup == 1) pass_turn(1);  // the first turn is warpgroup 0's
  barrier_wait(shared.Q_full, 0);
  if (tiles == 0) return;
  barrier_wait(shared.K_full[0], 0);
  take_turn(warpgroup);
  multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[0]);
  pass_turn(warpgroup);
  wgmma_wait<0>(S);
  release(shared.K_empty[0]);
  for (int j = tiles - 1; j >= 0; --j) {
    if (j >= whole) hide_masked(S, shape, i0, int64_t{j} * Bc);
    rescale_rows(O, softmax(S, sums, scale));
    round_weights(P, S);
    const int values = at.stage;
    barrier_wait(shared.V_full[values], at.parity);
    at.next();
    if (j > 0) barrier_wait(shared.K_full[at.stage], at.parity);
    take_turn(warpgroup);
    multiply_values<D, Bc>(O, P, shared.V[values]);
    if (j > 0) multiply_keys<D, Bc>(S, Q, Br * COLUMNS, shared.K[at.stage]);
    pass_turn(warpgroup);
    wgmma_wait<0>(O, S);
    release(shared.V_empty[values]);
    if (j > 0) release(shared.K_empty[at.stage]);
  }
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    taking_turns_kernel(Attention shape, float scale, const __grid_constant__ CUtensorMap q,
                        const __grid_constant__ CUtensorMap k,
                        const __grid_constant__ CUtensorMap v, bf16* __restrict__ out,
                        float* __restrict__ lse) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = aligned_shared<Shared<D>>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  __syncthreads();
  const int64_t blocks_of_head = ceil_div(shape.Tq, Br);
  const Queries queries(shape, Br, Bc, blockIdx.x / blocks_of_head,
                        blockIdx.x % blocks_of_head * Br);
  if (threadIdx.x < WARPGROUP) {
    give_registers<24>();
    if (threadIdx.x < WARP && elect_one()) produce(shared, queries, q, k, v);
  } else {
    take_registers<240>();
    const int64_t i0 = queries.i0 + (threadIdx.x / WARPGROUP - 1) * ROWS;
    float O[D / 2] = {};
    Sums sums;
    consume(shared, O, sums, shape, queries.tiles, i0, scale);
    finish(O, sums, lse + queries.head * shape.Tq, i0, shape.Tq);
    store(out + queries.head * shape.Tq * shape.HS, O, i0, shape.Tq, static_cast<int>(shape.HS));
  }
}

}  // namespace

void taking_turns(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                  float* lse, Workspace, cudaStream_t stream) {
  require_supported(shape, "taking_turns", 128, q, k, v, out);
  with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>;
    const auto kernel = taking_turns_kernel<D>;
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
