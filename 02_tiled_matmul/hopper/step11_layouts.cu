// Step 11 = step 10 + layouts: B or its transpose, rows with gaps, several products in one launch.
//
// FLOP            2·P·M·N·K; P is the number of products, `batch`
// global memory   2·P·K·(M·N/BN + N·M/ROWS) + E·P·M·N bytes; ROWS × BN elements of C a cluster
// asked for       loads 2·P·K·(M·⌈N/BN⌉ + N·⌈M/ROWS⌉) bytes, stores E·P·M·N bytes
// shared memory   as in step 10
// block           288 threads for several times 128 × 256, 192, 128 or 64 elements of C
//
// A map has three dimensions: the third counts products. Of Bᵀ (N, K) one box of 64 of K has up to
// 128 rows, which lie as A's do: wgmma reads them with Major::k, and the next 16 of K are 32 bytes
// further.
//
//   B (K, N)   box  64 of N × rows of K      Bᵀ (N, K)   box  64 of K × rows of N
//   a block's share of 64 × BN: 32 rows      a block's share: BN/2 rows, in one box
//   of each of the BN/64 pieces
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
  static constexpr int SHARE = BK / CLUSTER;             // of the rows of B's tile, a block's …
  static constexpr int SHARE_TRANSPOSED = BN / CLUSTER;  // … and of Bᵀ's
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
template <int BN, Major B_MAJOR>
__device__ void begin_products(float (&d)[BN / 2], const Tiles<BM, BN>& tiles, int m, bool add) {
  const WgmmaOperand a({.start = tiles.A + m * BK}),
      b({.start = tiles.B, .leading = sizeof tiles.B[0]});
  constexpr int NEXT = B_MAJOR == Major::k ? 2 : 128;  // bytes in B's tile to the next of K
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 16)
    wgmma<BN, bf16, Major::k, B_MAJOR>(d, a + k * 2, b + k * NEXT, add || k > 0);
  wgmma_commit();
}

/// Where a block's tile of C begins, and in which product.
struct Corner {
  int row, col, number;
};
/// The tiles of a product come one after the other, and after them those of the next one.
template <class S>
__device__ Corner corner_of(int tile, int down, int across) {
  const int number = tile / (down * across);
  const Place place = place_of<GROUP_ROWS / S::ROWS>(tile % (down * across), down, across);
  return {(place.down * S::CLUSTER + cluster_rank()) * BM, place.across * S::BN, number};
}

/// A warp's sums (16, 2·COUNT), whose first element is at this corner, by way of its boxes.
template <class Out, int COUNT>
__device__ void begin_stores(const CUtensorMap& C_map, Corner at, const float (&d)[COUNT],
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
      tma_store(C_map, &box, {at.col + i * BOX_COLS<Out>, at.row, at.number});
      tma_commit();
    }
  }
}

template <class S, Major B_MAJOR, class Out>
__global__ void __launch_bounds__(THREADS, 1)
    layouts_kernel(const __grid_constant__ CUtensorMap A_map,
                   const __grid_constant__ CUtensorMap B_map,
                   const __grid_constant__ CUtensorMap C_map, int M, int N, int K, int batch) {
  using Shared = typename S::Shared;
  constexpr int BN = S::BN, STAGES = S::STAGES, CLUSTER = S::CLUSTER, SHARE = S::SHARE;
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int down = ceil_div(M, CLUSTER * BM), across = ceil_div(N, BN);
  const int count = down * across * batch;  // of tiles
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
      for (int tile = first; tile < count; tile += stride) {
        const Corner at = corner_of<S>(tile, down, across);
        for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
          Tiles<BM, BN>& tiles = shared.tiles[turn.stage];
          Barrier& full = shared.full[turn.stage];
          barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
          barrier_arrive_expect(full, sizeof tiles);
          tma_load(tiles.A, A_map, full, {k0, at.row, at.number});
          if constexpr (B_MAJOR == Major::k) {
            const int row = rank * S::SHARE_TRANSPOSED;
            tma_load_multicast(reinterpret_cast<bf16*>(tiles.B) + row * BK, B_map, full,
                               {k0, at.col + row, at.number}, S::EVERY_BLOCK);
          } else {
            for (int i = 0; i < BN / COLS; ++i)
              tma_load_multicast(tiles.B[i] + rank * SHARE * COLS, B_map, full,
                                 {at.col + i * COLS, k0 + rank * SHARE, at.number}, S::EVERY_BLOCK);
          }
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
    for (int tile = first; tile < count; tile += stride) {
      const Corner at = corner_of<S>(tile, down, across);
      for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
        barrier_wait(shared.full[turn.stage], turn.parity);
        begin_products<BN, B_MAJOR>(d, shared.tiles[turn.stage], m, k0 > 0);
        // Waits for all but these products, which go on while the next tile is waited for.
        wgmma_wait<1>();
        if (k0 > 0) release((turn.stage + STAGES - 1) % STAGES);
      }
      wgmma_wait<0>(d);
      release((turn.stage + STAGES - 1) % STAGES);
      begin_stores<Out>(C_map, {at.row + m + warp * 16, at.col, at.number}, d,
                        shared.boxes[m / 16 + warp], next_box);
    }
    if (threadIdx.x % 32 == 0) tma_wait<0>();
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

template <class S>
void launch(const Bf16Product& p, const bf16* A, const bf16* B, Output C, cudaStream_t stream) {
  const CUtensorMap A_map = map_of(A, p.batch, p.stride_a, p.M, p.K, p.lda, BM, BK);
  const CUtensorMap B_map =
      p.b_transposed ? map_of(B, p.batch, p.stride_b, p.N, p.K, p.ldb, S::SHARE_TRANSPOSED, BK)
                     : map_of(B, p.batch, p.stride_b, p.K, p.N, p.ldb, S::SHARE, COLS);
  const int64_t tiles = p.batch * ceil_div(p.M, S::ROWS) * ceil_div(p.N, S::BN);
  const int64_t count = std::min<int64_t>(tiles, multiprocessors() / S::CLUSTER);
  const int m = static_cast<int>(p.M), n = static_cast<int>(p.N), k = static_cast<int>(p.K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel =
            p.b_transposed ? layouts_kernel<S, Major::k, Out> : layouts_kernel<S, Major::mn, Out>;
        allow_shared_memory(kernel, S::SHARED_BYTES);
        const CUtensorMap C_map =
            map_of(to, p.batch, p.stride_c, p.M, p.N, p.ldc, 16, BOX_COLS<Out>);
        launch_clusters(kernel, S::CLUSTER, dim3(count * S::CLUSTER), dim3(THREADS),
                        S::SHARED_BYTES, stream, A_map, B_map, C_map, m, n, k,
                        static_cast<int>(p.batch));
      },
      C);
}

using Widest = Shape<256, 2>;
using Wide = Shape<192, 2>;
using Square = Shape<128, 2>;
using Narrow = Shape<64, 1>;

}  // namespace

void layouts(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
             Workspace workspace, cudaStream_t stream) {
  require_sm_90a("layouts");
  require_no_epilogue(product, "layouts");
  const Bf16Product p = spelled_out(product);
  if (!tma_takes_layout(p, A, B, C))
    return tensor_cores::layouts(product, A, B, C, workspace, stream);
  switch (columns_of_tile(p.M, p.N, multiprocessors(), p.batch)) {
    case Widest::BN:
      return launch<Widest>(p, A, B, C, stream);
    case Wide::BN:
      return launch<Wide>(p, A, B, C, stream);
    case Square::BN:
      return launch<Square>(p, A, B, C, stream);
    default:
      return launch<Narrow>(p, A, B, C, stream);
  }
}

}  // namespace tutorial::tiled_matmul::hopper
