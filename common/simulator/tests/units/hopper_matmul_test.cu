// A product with all the words at once: a producer warp and two consumer warpgroups, a ring of
// stages, tiles by TMA, products by wgmma, stores by TMA; and the same in clusters whose blocks
// bring each other half of B's tile.
#include "common/kernel/cluster.cuh"
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/kernel/wgmma.cuh"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

using T = __nv_bfloat16;
constexpr int BM = 128, BN = 128, BK = 64, STAGES = 3, CONSUMERS = 2;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;

struct Shared {
  T A[STAGES][BM * BK];        // (BM, BK), rows of 128 bytes, swizzled
  T B[STAGES][2][BK * 64];     // two halves (BK, 64) of (BK, BN), as they lie in B
  T C[CONSUMERS][2][64 * 64];  // of each warpgroup two halves (64, 64) of (64, BN)
  Barrier full[STAGES], empty[STAGES];
};
constexpr int BYTES_OF_STAGE = static_cast<int>((BM * BK + BK * BN) * sizeof(T));
constexpr int BYTES = aligned_bytes<Shared>;

/// C (M, N) = A (M, K) · B (K, N), row-major. blockIdx.x counts tiles down, y across; the blocks of
/// a cluster lie below each other, so they need the same tile of B.
template <int CLUSTER>
__global__ void __launch_bounds__(THREADS, 1)
    product(const __grid_constant__ CUtensorMap A_map, const __grid_constant__ CUtensorMap B_map,
            const __grid_constant__ CUtensorMap C_map, int K) {
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int row = static_cast<int>(blockIdx.x) * BM, column = static_cast<int>(blockIdx.y) * BN;
  const int group = static_cast<int>(threadIdx.x) / WARPGROUP;
  const int steps = (K + BK - 1) / BK;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], CLUSTER * CONSUMERS);
    }
    barrier_init_fence();
  }
  if (CLUSTER > 1)
    cluster_sync();
  else
    __syncthreads();

  if (group == 0) {  // the producer: one thread of it
    give_registers<40>();
    if (threadIdx.x < 32 && elect_one()) {
      for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES;
        Barrier& full = shared.full[stage];
        barrier_wait(shared.empty[stage], step / STAGES % 2 ^ 1);
        barrier_arrive_expect(full, BYTES_OF_STAGE);
        tma_load(shared.A[stage], A_map, full, {step * BK, row});
        if (CLUSTER == 1) {
          tma_load(shared.B[stage][0], B_map, full, {column, step * BK});
          tma_load(shared.B[stage][1], B_map, full, {column + 64, step * BK});
        } else {
          const int half = cluster_rank();
          tma_load_multicast(shared.B[stage][half], B_map, full, {column + 64 * half, step * BK},
                             (1u << CLUSTER) - 1);
        }
      }
    }
  } else {
    take_registers<232>();
    const int thread = static_cast<int>(threadIdx.x) % WARPGROUP;
    float d[BN / 2];
    for (int step = 0; step < steps; ++step) {
      const int stage = step % STAGES;
      barrier_wait(shared.full[stage], step / STAGES % 2);
      const WgmmaOperand a({.start = shared.A[stage] + (group - 1) * 64 * BK});
      const WgmmaOperand b({.start = shared.B[stage], .leading = BK * 128});
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BK / 16; ++k)
        wgmma<BN, T, Major::k, Major::mn>(d, a + k * 32, b + k * 16 * 128, step + k > 0);
      wgmma_commit();
      wgmma_wait<0>(d);
      if (thread < CLUSTER) {
        if (CLUSTER > 1)
          barrier_arrive_at(shared.empty[stage], thread);
        else
          barrier_arrive(shared.empty[stage]);
      }
    }
    const int warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
#pragma unroll
    for (int i = 0; i < BN / 2; i += 2) {
      const int r = 16 * warp + g + i % 4 / 2 * 8, c = i / 4 * 8 + 2 * t;
      unsigned char* const half = reinterpret_cast<unsigned char*>(shared.C[group - 1][c / 64]);
      const unsigned byte = static_cast<unsigned>(r * 128 + c % 64 * 2);
      *reinterpret_cast<__nv_bfloat162*>(half + swizzled(byte, Swizzle::bytes_128)) =
          __floats2bfloat162_rn(d[i], d[i + 1]);
    }
    fence_async_proxy();
    named_sync(group, WARPGROUP);
    if (thread == 0) {
      tma_store(C_map, shared.C[group - 1][0], {column, row + (group - 1) * 64});
      tma_store(C_map, shared.C[group - 1][1], {column + 64, row + (group - 1) * 64});
      tma_commit();
      tma_wait<0>();
    }
  }
  __syncwarp();                     // some lanes had other work
  if (CLUSTER > 1) cluster_sync();  // a neighbour may still arrive at this block's barriers
}

template <int CLUSTER>
void check(int M, int N, int K) {
  const auto A = whole_numbers<T>(int64_t{M} * K, 1), B = whole_numbers<T>(int64_t{K} * N, 2);
  const DeviceBuffer<T> a(A), b(B);
  DeviceBuffer<T> c(int64_t{M} * N);
  const uint64_t m = static_cast<uint64_t>(M), n = static_cast<uint64_t>(N),
                 k = static_cast<uint64_t>(K);
  const auto A_map = tensor_map(a.data(), {k, m}, {k}, {BK, BM});
  const auto B_map = tensor_map(b.data(), {n, k}, {n}, {64, BK});
  const auto C_map = tensor_map(c.data(), {n, m}, {n}, {64, 64});
  allow_shared(product<CLUSTER>, BYTES);
  const unsigned down = static_cast<unsigned>((M + BM * CLUSTER - 1) / (BM * CLUSTER) * CLUSTER);
  const dim3 grid(down, static_cast<unsigned>((N + BN - 1) / BN));
  if (CLUSTER == 1) {
    product<1><<<grid, THREADS, BYTES>>>(A_map, B_map, C_map, K);
    CUDA_CHECK_LAUNCH();
  } else {
    launch_clusters(product<CLUSTER>, CLUSTER, grid, dim3(THREADS), BYTES, nullptr, A_map, B_map,
                    C_map, K);
  }
  const auto got = c.to_host();
  CHECK(c.guards_intact());
  int wrong = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float want = 0;
      for (int l = 0; l < K; ++l)
        want += widened(A[static_cast<size_t>(i) * k + static_cast<size_t>(l)]) *
                widened(B[static_cast<size_t>(l) * n + static_cast<size_t>(j)]);
      wrong += !(widened(got[static_cast<size_t>(i) * n + static_cast<size_t>(j)]) ==
                 widened(narrow_to<T>(want)));
    }
  INFO(M << " " << N << " " << K << ", clusters of " << CLUSTER);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a product with TMA and wgmma", "[hopper]") {
  need_sm_90a();
  check<1>(128, 128, 64);
  check<1>(128, 128, 400);
  check<1>(200, 136, 72);
  check<1>(1, 8, 8);
}
TEST_CASE("a product with TMA and wgmma, in clusters", "[hopper][cluster]") {
  need_sm_90a();
  check<2>(256, 128, 64);
  check<2>(256, 136, 400);
  check<2>(300, 136, 72);
}
