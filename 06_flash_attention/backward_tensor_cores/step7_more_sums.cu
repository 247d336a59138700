// Step 7 = step 6 + where blocks are few, several sums. Of dk and dv: several blocks have the same
// keys, each with some of the heads that share them. So all multiprocessors have work. Of dq: a
// block waits only for every n-th block. The kernel behind adds the sums. With one of each it is
// step 6.
//
// FLOP            as step 5
// global memory   as step 5, and for s > 1 sums of dk and dv 16·s·B·NH_kv·Tk·D bytes, for n of dq
//                 8·(n − 1)·B·NH·Tq·D bytes
// asked for by sum_rows_kernel  loads 4·B·NH·Tq·(HS + 1) bytes,
//                 stores 8·B·NH·⌈Tq/Br⌉·(Br + 1) + 8 bytes, and 8·(n − 1)·B·NH·⌈Tq/Br⌉
// asked for by more_sums_kernel
//                 loads 4·B·(NH_kv·Tk·HS + NH·(Tq·HS + 2·⌈Tq/Br⌉·Br)·⌈Tk/128⌉) bytes, for s > 1 s
//                 times as many of keys, stores
//                 4·B·(NH_kv·Tk·HS + NH·⌈Tq/Br⌉·Br·D·⌈Tk/128⌉) bytes, for s > 1 of keys
//                 8·s·B·NH_kv·128·⌈Tk/128⌉·D; half of what has Tq if causal
// asked for by store_sums_kernel  loads 4·B·NH·⌈Tq/Br⌉·Br·D bytes, for n > 1 up to n times as many,
//                 and for s > 1 8·s·B·NH_kv·64·⌈Tk/64⌉·D, stores 2·B·NH·Tq·HS bytes, and for s > 1
//                 4·B·NH_kv·Tk·HS
// shared memory   as step 5
// block           as step 5
#include "backward_tensor_cores/hopper_tiles.cuh"
#include "common/kernel/device.hpp"
#include "hopper/launch.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// A warpgroup: dk and dv of its 64 keys.
template <int D>
__device__ __forceinline__ void consume(Shared<D>& shared, float (&dK)[D / 2], float (&dV)[D / 2],
                                        const Attention& shape, const Walk<D>& walk, float scale) {
  constexpr int HALVES = Shared<D>::HALVES;
  constexpr int BEHIND = D == 64 ? 1 : 0;  // groups: dV's product runs on where registers do for it
  const int w = threadIdx.x / WARPGROUP - 1, j0 = walk.j0 + w * ROWS;
  const bf16 *const K = shared.K.box[0] + w * ROWS * COLUMNS, *const V = shared.V.box[0] +
                                                                         w * ROWS * COLUMNS;
  barrier_wait(shared.keys_full, 0);
  if (walk.count == 0) return;
  Ring<STAGES> at;
  Ring<1> part_at;
  float S[ROWS / 2];
  barrier_wait(shared.Q_full[0], 0);
  multiply_keys<D, ROWS>(S, K, KEYS * COLUMNS, shared.Q[0][0]);
  wgmma_wait<0>(S);
  for (int n = 0; n < walk.count; ++n) {
    Ring<STAGES> next = at;  // behind the last tile its scores come again, for nothing
    if (n + 1 < walk.count) next.next();
    barrier_wait(shared.dO_full[at.stage], at.parity);
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
      const Boxes<ROWS, D>&Q = shared.Q[at.stage][half], &dO = shared.dO[at.stage][half];
      const float(&of_queries)[2][Shared<D>::Br] = shared.of_queries[at.stage];
      float dP[ROWS / 2];
      uint32_t P[ROWS / 16][4], dS[ROWS / 16][4];
      multiply_keys<D, ROWS>(dP, V, KEYS * COLUMNS, dO);
      hide_unseen(S, shape, walk.i0(n) + half * ROWS, j0);
      weigh(S, of_queries[0] + half * ROWS, scale);
      round_weights(P, S);
      multiply_values<D, ROWS>(dV, P, dO);
      wgmma_wait<BEHIND>(dP);
      weigh_gradients(dP, S, of_queries[1] + half * ROWS);
      round_weights(dS, dP);
      put_gradients(shared.dS[n % 2][half], dP, w);
      if (half + 1 < HALVES) {
        multiply_values<D, ROWS>(dK, dS, Q);
        multiply_keys<D, ROWS>(S, K, KEYS * COLUMNS, shared.Q[at.stage][half + 1]);
        wgmma_wait<0>(dV, dK, S);
      } else {
        float part[PART / WARPGROUP];
        gradients_sync();
        multiply_part(part, shared, n, w);
        multiply_values<D, ROWS>(dK, dS, Q);
        wgmma_wait<1>(part, dV);
        release(shared.dO_empty[at.stage]);
        put_part(shared, part, w, part_at);
        barrier_wait(shared.Q_full[next.stage], next.parity);
        multiply_keys<D, ROWS>(S, K, KEYS * COLUMNS, shared.Q[next.stage][0]);
        wgmma_wait<0>(dV, dK, S);
        release(shared.Q_empty[at.stage]);
      }
    }
    at = next;
  }
}

/// Stores what a lane has of 64×D sums, as a part of dq lies in memory.
template <int N>
__device__ void store_sum(float* to, const float (&sums)[N]) {
#pragma unroll
  for (int i = 0; i < N / 4; ++i)
    reinterpret_cast<float4*>(to)[i * WARPGROUP + threadIdx.x % WARPGROUP] =
        make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);
}

template <int D>
__global__ void __launch_bounds__(BLOCK, 1)
    more_sums_kernel(Attention shape, Schedule schedule, float scale, float factor,
                     const __grid_constant__ Maps maps, Sums sums, Tensors at) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = aligned_shared<Shared<D>>(memory);
  if (threadIdx.x == 0) {
    make_barriers(shared);
    shared.ticket = static_cast<int64_t>(atomicAdd(sums.next_ticket, 1));
  }
  __syncthreads();
  const int several = static_cast<int>(sums.counts.of_keys);
  const Walk<D> walk(shape, schedule, shared.ticket, several);
  if (threadIdx.x < WARPGROUP) {
    give_registers<24>();
    const int warp = threadIdx.x / WARP;
    if (warp == 0 && elect_one()) produce(shared, walk, maps);
    if ((warp == 1 || warp == 2) && elect_one()) add_parts(shared, walk, sums, warp - 1);
  } else {
    take_registers<240>();
    float dK[D / 2] = {}, dV[D / 2] = {};
    consume(shared, dK, dV, shape, walk, scale);
    const int w = threadIdx.x / WARPGROUP - 1, j0 = walk.j0 + w * ROWS;
    if (several > 1) {
      const int64_t rows = (walk.kv_head * schedule.tiles + walk.block) * CONSUMERS + w;
      float* const to = sums.of_keys + (rows * several + walk.share) * 2 * ROWS * D;
      store_sum(to, dK);
      store_sum(to + ROWS * D, dV);
      return;
    }
    const int64_t first = int64_t{walk.kv_head} * shape.Tk * shape.HS;
    store_rows(at.dk + first, dK, factor, j0, shape);
    store_rows(at.dv + first, dV, 1, j0, shape);
  }
}

}  // namespace

void more_sums(const Attention& shape, const Tensors& at, Workspace workspace,
               cudaStream_t stream) {
  require_hopper(shape, "more_sums", at);
  const SumCounts counts = sum_counts(shape, multiprocessors());
  if (counts.of_keys == 1 && counts.of_queries == 1)
    return scores_ahead(shape, at, workspace, stream);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>;
    const auto kernel = more_sums_kernel<D>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    const Sums sums = take_sums(shape, "more_sums", workspace, query_tile(shape), 2, counts);
    const Schedule schedule = schedule_of_keys(shape, counts);
    const unsigned blocks = grid_blocks(schedule.tickets());
    const float factor = score_scale(shape);
    sum_rows(shape, at, sums, stream);
    kernel<<<blocks, BLOCK, BYTES, stream>>>(shape, schedule, LOG2_E * factor, factor,
                                             maps_of(shape, at, sums), sums, at);
    CUDA_CHECK_LAUNCH();
    store_sums(shape, at, sums, factor, stream);
  });
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
