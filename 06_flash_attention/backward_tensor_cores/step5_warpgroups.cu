// Step 5: all five products by wgmma, once each. A block of keys has its parts of dq added to sums
// in global memory.
//
// FLOP            10·HS a pair
// global memory   as step 1, and the sums of dq: 8·B·NH·Tq·D bytes, that many again for each 128
//                 keys in the L2 cache
// asked for by sum_rows_kernel  loads 4·B·NH·Tq·(HS + 1) bytes,
//                 stores 8·B·NH·⌈Tq/Br⌉·(Br + 1) + 8 bytes
// asked for by warpgroups_kernel
//                 loads 4·B·(NH_kv·Tk·HS + NH·(Tq·HS + 2·⌈Tq/Br⌉·Br)·⌈Tk/128⌉) bytes,
//                 stores 4·B·(NH_kv·Tk·HS + NH·⌈Tq/Br⌉·Br·D·⌈Tk/128⌉) bytes; half of what has Tq if
//                 causal
// asked for by store_sums_kernel  loads 4·B·NH·⌈Tq/Br⌉·Br·D bytes, stores 2·B·NH·Tq·HS bytes
//                 (D is 64 for heads up to 64, with Br 128; else D is 128 and Br 64)
// shared memory   193 KB
// block           384 threads for 128 keys
// long diff       other instructions and other threads: the words are part hopper's
//
//   warpgroup 0     thread 0 loads; a thread each of warps 1 and 2 has parts of dq added
//   warpgroups 1, 2 64 keys each:  Sᵀ = K·Qᵀ   dPᵀ = V·dOᵀ     A and B in shared memory
//                                  dV += Pᵀ·dO  dK += dSᵀ·Q     A in registers
//                   both together: dQ = dS·K                    dSᵀ by way of shared memory
#include "backward_tensor_cores/hopper_tiles.cuh"
#include "hopper/launch.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// A warpgroup: dk and dv of its 64 keys.
template <int D>
__device__ __forceinline__ void consume(Shared<D>& shared, float (&dK)[D / 2], float (&dV)[D / 2],
                                        const Attention& shape, const Walk<D>& walk, float scale) {
  constexpr int HALVES = Shared<D>::HALVES;
  const int w = threadIdx.x / WARPGROUP - 1, j0 = walk.j0 + w * ROWS;
  const bf16 *const K = shared.K.box[0] + w * ROWS * COLUMNS, *const V = shared.V.box[0] +
                                                                         w * ROWS * COLUMNS;
  barrier_wait(shared.keys_full, 0);
  Ring<STAGES> at;
  Ring<1> part_at;
  for (int n = 0; n < walk.count; ++n, at.next()) {
    barrier_wait(shared.Q_full[at.stage], at.parity);
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
      const Boxes<ROWS, D>&Q = shared.Q[at.stage][half], &dO = shared.dO[at.stage][half];
      const float(&of_queries)[2][Shared<D>::Br] = shared.of_queries[at.stage];
      float S[ROWS / 2], dP[ROWS / 2];
      uint32_t P[ROWS / 16][4], dS[ROWS / 16][4];
      multiply_keys<D, ROWS>(S, K, KEYS * COLUMNS, Q);
      if (half == 0) barrier_wait(shared.dO_full[at.stage], at.parity);
      multiply_keys<D, ROWS>(dP, V, KEYS * COLUMNS, dO);
      wgmma_wait<1>(S);
      hide_unseen(S, shape, walk.i0(n) + half * ROWS, j0);
      weigh(S, of_queries[0] + half * ROWS, scale);
      round_weights(P, S);
      multiply_values<D, ROWS>(dV, P, dO);
      wgmma_wait<1>(dP);
      weigh_gradients(dP, S, of_queries[1] + half * ROWS);
      round_weights(dS, dP);
      put_gradients(shared.dS[n % 2][half], dP, w);
      multiply_values<D, ROWS>(dK, dS, Q);
      if (half + 1 < HALVES) wgmma_wait<0>(dV, dK);
    }
    gradients_sync();
    float part[PART / WARPGROUP];
    multiply_part(part, shared, n, w);
    wgmma_wait<1>(dV, dK);
    release(shared.dO_empty[at.stage]);
    release(shared.Q_empty[at.stage]);
    wgmma_wait<0>(part);
    put_part(shared, part, w, part_at);
  }
}

template <int D>
__global__ void __launch_bounds__(BLOCK, 1)
    warpgroups_kernel(Attention shape, Schedule schedule, float scale, float factor,
                      const __grid_constant__ Maps maps, Sums sums, Tensors at) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = aligned_shared<Shared<D>>(memory);
  if (threadIdx.x == 0) {
    make_barriers(shared);
    shared.ticket = static_cast<int64_t>(atomicAdd(sums.next_ticket, 1));
  }
  __syncthreads();
  const Walk<D> walk(shape, schedule, shared.ticket);
  if (threadIdx.x < WARPGROUP) {
    give_registers<24>();
    const int warp = threadIdx.x / WARP;
    if (warp == 0 && elect_one()) produce(shared, walk, maps);
    if ((warp == 1 || warp == 2) && elect_one()) add_parts(shared, walk, sums, warp - 1);
  } else {
    take_registers<240>();
    float dK[D / 2] = {}, dV[D / 2] = {};
    consume(shared, dK, dV, shape, walk, scale);
    const int j0 = walk.j0 + (static_cast<int>(threadIdx.x) / WARPGROUP - 1) * ROWS;
    const int64_t first = int64_t{walk.kv_head} * shape.Tk * shape.HS;
    store_rows(at.dk + first, dK, factor, j0, shape);
    store_rows(at.dv + first, dV, 1, j0, shape);
  }
}

}  // namespace

void warpgroups(const Attention& shape, const Tensors& at, Workspace workspace,
                cudaStream_t stream) {
  require_hopper(shape, "warpgroups", at);
  tensor_cores::with_padded_head_size<64, 128>(shape.HS, [&]<int D>() {
    constexpr int BYTES = aligned_bytes<Shared<D>>;
    const auto kernel = warpgroups_kernel<D>;
    allow_shared_memory(kernel, BYTES, "head size", shape.HS);
    const Sums sums = take_sums(shape, "warpgroups", workspace, query_tile(shape), 2);
    if (is_done_without(shape, at, stream)) return;
    const Schedule schedule = schedule_of_keys(shape);
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
