// Step 10 = step 9 + the tile with which the busiest multiprocessor is done first.
//
// FLOP            2·M·N·K
// global memory   as in step 9
// asked for       loads 2·K·(M·⌈N/BN⌉ + N·⌈M/ROWS⌉) bytes, stores E·M·N bytes
// shared memory   up to 224 KB a block: stages of 48, 40, 32 or 24 KB, and step 8's boxes
// block           288 threads for several times 128 × 256, 192, 128 or 64 elements of C
// H200            0.0109 ms at 1024³, 84 % of cuBLAS; step 8 has 51 %
//
// Where C has many tiles, too, few of them may take part in the last round: 3000 × 5000 elements of
// C are 240 pairs of tiles of 128 × 256, and 66 clusters do 66, 66, 66 and 42 of them.
#include "common/kernel/cluster.cuh"
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int CONSUMERS = 2, THREADS = CONSUMERS * WARPGROUP + 32;
constexpr int BM = 64 * CONSUMERS;
constexpr int GROUP_ROWS = 2048;  // of C, in a strip of tiles
constexpr int BOXES = 2;          // of a warp: it fills one while the other is copied

/// What follows from a tile's columns and the number of blocks that share a tile of B.
template <int BN_, int CLUSTER_>
struct Shape {
  static constexpr int BN = BN_, CLUSTER = CLUSTER_, ROWS = CLUSTER * BM;
  static constexpr int SHARE = BK / CLUSTER;
  static constexpr unsigned EVERY_BLOCK = (1u << CLUSTER) - 1;
  static constexpr int STAGES = 192 * 1024 / sizeof(Tiles<BM, BN>);
  struct Shared {
    Tiles<BM, BN> tiles[STAGES];
    Box boxes[CONSUMERS * 4][BOXES];  // (warp, …)
    Barrier full[STAGES], empty[STAGES];
  };
  static constexpr int SHARED_BYTES = aligned_bytes<Shared>;
};

/// Begins d (64, BN) += 64 rows of A's tile, from row m on, · B's tile, or d = … without `add`.
template <int BN>
__device__ void begin_products(float (&d)[BN / 2], const Tiles<BM, BN>& tiles, int m, bool add) {
  const WgmmaOperand a({.start = tiles.A + m * BK}),
      b({.start = tiles.B, .leading = sizeof tiles.B[0]});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 16)
    wgmma<BN, bf16, Major::k, Major::mn>(d, a + k * 2, b + k * 128, add || k > 0);
  wgmma_commit();
}

/// A warp's sums (16, 2·COUNT), whose first element is C[row0][col0], by way of its boxes.
template <class Out, int COUNT>
__device__ void begin_stores(const CUtensorMap& C_map, int row0, int col0, const float (&d)[COUNT],
                             Box (&boxes)[BOXES], int& next) {
#pragma unroll
  for (int i = 0; i < 2 * COUNT / BOX_COLS<Out>; ++i) {
    Box& box = boxes[next];
    next = (next + 1) % BOXES;
    if (threadIdx.x % 32 == 0) tma_wait_read<BOXES - 1>();  // TMA has read what the box held …
    __syncwarp();                                           // … and all lanes know
    fill_box(box, d + i * BOX_COLS<Out> / 2, Out{});
    fence_async_proxy();  // TMA may read what this lane has written …
    __syncwarp();         // … and what the others have
    if (threadIdx.x % 32 == 0) {
      tma_store(C_map, &box, {col0 + i * BOX_COLS<Out>, row0});
      tma_commit();
    }
  }
}

template <class S, class Out>
__global__ void __launch_bounds__(THREADS, 1)
    by_shape_kernel(const __grid_constant__ CUtensorMap A_map,
                    const __grid_constant__ CUtensorMap B_map,
                    const __grid_constant__ CUtensorMap C_map, int M, int N, int K) {
  using Shared = typename S::Shared;
  constexpr int BN = S::BN, STAGES = S::STAGES, CLUSTER = S::CLUSTER, SHARE = S::SHARE;
  constexpr int GROUP = GROUP_ROWS / S::ROWS;
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int down = ceil_div(M, CLUSTER * BM), across = ceil_div(N, BN);
  const int group = warpgroup_number(), rank = cluster_rank();
  const int first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], CLUSTER * CONSUMERS);
    }
    barrier_init_fence();
  }
  cluster_sync();

  Ring<STAGES> turn;
  if (group == CONSUMERS) {  // the producer: one thread of its warp
    if (elect_one()) {
      for (int tile = first; tile < down * across; tile += stride) {
        const Place place = place_of<GROUP>(tile, down, across);
        for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
          Tiles<BM, BN>& tiles = shared.tiles[turn.stage];
          Barrier& full = shared.full[turn.stage];
          barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
          barrier_arrive_expect(full, sizeof tiles);
          tma_load(tiles.A, A_map, full, {k0, (place.down * CLUSTER + rank) * BM});
          for (int i = 0; i < BN / COLS; ++i)
            tma_load_multicast(tiles.B[i] + rank * SHARE * COLS, B_map, full,
                               {place.across * BN + i * COLS, k0 + rank * SHARE}, S::EVERY_BLOCK);
        }
      }
    }
  } else {
    const int m = group * 64, warp = threadIdx.x % WARPGROUP / 32;
    const auto release = [&](int stage) {
      const int target = threadIdx.x % WARPGROUP;  // thread 0 tells block 0, thread 1 block 1
      if (target < CLUSTER) barrier_arrive_at(shared.empty[stage], target);
    };
    float d[BN / 2];
    int next_box = 0;
    for (int tile = first; tile < down * across; tile += stride) {
      const Place place = place_of<GROUP>(tile, down, across);
      for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
        barrier_wait(shared.full[turn.stage], turn.parity);
        begin_products(d, shared.tiles[turn.stage], m, k0 > 0);
        // Waits for all but these products, which go on while the next tile is waited for.
        wgmma_wait<1>();
        if (k0 > 0) release((turn.stage + STAGES - 1) % STAGES);
      }
      wgmma_wait<0>(d);
      release((turn.stage + STAGES - 1) % STAGES);
      begin_stores<Out>(C_map, (place.down * CLUSTER + rank) * BM + m + warp * 16,
                        place.across * BN, d, shared.boxes[m / 16 + warp], next_box);
    }
    if (threadIdx.x % 32 == 0) tma_wait<0>();
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

template <class S>
void launch(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
            cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, S::SHARE, COLS);
  const int64_t tiles = ceil_div(M, S::ROWS) * ceil_div(N, S::BN);
  const int64_t count = std::min<int64_t>(tiles, multiprocessors() / S::CLUSTER);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = by_shape_kernel<S, Out>;
        allow_shared_memory(kernel, S::SHARED_BYTES);
        const CUtensorMap C_map = map_of(to, M, N, 16, BOX_COLS<Out>);
        launch_clusters(kernel, S::CLUSTER, dim3(count * S::CLUSTER), dim3(THREADS),
                        S::SHARED_BYTES, stream, A_map, B_map, C_map, m, n, k);
      },
      C);
}

// What a tile costs whatever its size, in columns of C that would take as long.
constexpr int BESIDES = 32;

/// How long the busiest multiprocessor works, in such columns.
template <class S>
int64_t work(int64_t M, int64_t N, int multiprocessors, int64_t batch) {
  const int64_t tiles = batch * ceil_div(M, S::ROWS) * ceil_div(N, S::BN);
  return ceil_div(tiles, std::max(1, multiprocessors / S::CLUSTER)) * (S::BN + BESIDES);
}

using Widest = Shape<256, 2>;
using Wide = Shape<192, 2>;
using Square = Shape<128, 2>;
using Narrow = Shape<64, 1>;

}  // namespace

int columns_of_tile(int64_t M, int64_t N, int multiprocessors, int64_t batch) {
  int64_t least = work<Widest>(M, N, multiprocessors, batch);
  int columns = Widest::BN;
  const auto try_shape = [&]<class S>(S) {
    const int64_t this_one = work<S>(M, N, multiprocessors, batch);
    if (this_one < least) least = this_one, columns = S::BN;
  };
  try_shape(Wide()), try_shape(Square()), try_shape(Narrow());
  return columns;
}

void by_shape(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  require_sm_90a("by_shape");
  require_plain(product, "by_shape");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  switch (columns_of_tile(product.M, product.N, multiprocessors())) {
    case Widest::BN:
      return launch<Widest>(product, A, B, C, stream);
    case Wide::BN:
      return launch<Wide>(product, A, B, C, stream);
    case Square::BN:
      return launch<Square>(product, A, B, C, stream);
    default:
      return launch<Narrow>(product, A, B, C, stream);
  }
}

}  // namespace tutorial::tiled_matmul::hopper
