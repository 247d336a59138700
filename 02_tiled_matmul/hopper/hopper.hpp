// Part hopper of chapter 02: part tensor_cores' problem, C = A·B from bf16 numbers, with what
// compute capability 9.0 brought: the TMA unit copies whole tiles, a warpgroup of 128 threads
// multiplies them where they lie, and barriers that count bytes hand them over.
//
// Sizes, types, and what a launcher promises are part tensor_cores'.
#pragma once

#include <algorithm>
#include <span>

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::hopper {

using tensor_cores::bf16, tensor_cores::Bf16Product, tensor_cores::Launcher, tensor_cores::Output;
using tensor_cores::is_plain, tensor_cores::spelled_out, tensor_cores::Activation;
using tensor_cores::workspace_bytes;  // more than 0 only where TMA does not take A and B

/// The step that step 1 goes on from.
inline constexpr const char* after = "tensor_cores/by_shape";

// The TMA unit takes matrices whose rows begin at multiples of 16 bytes. So these steps do where A,
// B and C begin at multiples of 16 bytes and N and K are multiples of 8 below 2^30; anything else
// goes the way of part tensor_cores' by_shape. Throw Error where compute capability is not 9.0.
// Steps 11 and 12 go by the distances of rows and of matrices in place of N and K, but a row of C
// has a multiple of 16 bytes; anything else goes the way of that part's layouts.
Launcher warpgroup, ring, producer, in_flight, two_consumers;
Launcher persistent, clusters, stored_behind, narrow_tiles, by_shape, layouts, epilogue;

/// Beside step 12, and its way where TMA does not take A, B and C: the product by step 11, and then
/// finish(), the epilogue as a kernel of its own. Throw Error for a beta.
Launcher two_kernels;
void finish(const Bf16Product& product, Output C, cudaStream_t stream);

/// Coordinates of tiles are ints, and a tile may begin that much before the end of an extent.
inline constexpr int64_t MOST = int64_t{1} << 30;
/// Does TMA take these matrices? Not empty ones, either: a map has no extents of 0.
inline bool tma_takes(const Bf16Product& product, const bf16* A, const bf16* B, Output C) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const auto is_aligned = [](const auto* X) { return reinterpret_cast<uintptr_t>(X) % 16 == 0; };
  return is_plain(product) && M * N > 0 && K > 0 && std::max({M, N, K}) < MOST && N % 8 == 0 &&
         K % 8 == 0 && is_aligned(A) && is_aligned(B) && std::visit(is_aligned, C);
}
/// Does it take them with these distances, which spelled_out() gave?
bool tma_takes_layout(const Bf16Product& product, const bf16* A, const bf16* B, Output C);
/// Do tiles of 256 columns keep more than half of so many multiprocessors busy? Else step 9
/// takes 64.
bool wide_tiles_are_enough(int64_t M, int64_t N, int multiprocessors);
/// How many columns of C the tiles of step 10 have, on a device of so many multiprocessors; of step
/// 11, for so many products.
int columns_of_tile(int64_t M, int64_t N, int multiprocessors, int64_t batch = 1);

/// In tiles of ROWS × BN elements of C, a block's or a cluster's.
template <int ROWS, int BN>
std::vector<Asked> by_tma_tiles(const Bf16Product& s, const bf16* A, const bf16* B, Output C,
                                Workspace workspace, cudaStream_t stream) {
  if (!tma_takes(s, A, B, C)) return tensor_cores::by_shape_asks(s, A, B, C, workspace, stream);
  const int64_t E = tensor_cores::bytes_of_element(C);
  return {{.loads = 2 * s.K * (s.M * ceil_div(s.N, BN) + s.N * ceil_div(s.M, ROWS)),
           .stores = E * s.M * s.N}};
}
Asks<Launcher> narrow_tiles_asks, by_shape_asks, layouts_asks, epilogue_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "warpgroup",
     .launch = warpgroup,
     .asked = by_tma_tiles<64, 256>,
     .idea = "TMA brings the tiles, and one instruction of four warps multiplies them there",
     .tile = tile_in_any_order(64, 256),
     .needs = "sm_90a"},
    {.name = "ring",
     .launch = ring,
     .asked = by_tma_tiles<64, 256>,
     .idea = "a ring of stages: the next tiles are on their way while one is multiplied",
     .tile = tile_in_any_order(64, 256),
     .needs = "sm_90a"},
    {.name = "producer",
     .launch = producer,
     .asked = by_tma_tiles<64, 256>,
     .idea = "one thread of another warp only loads",
     .tile = tile_in_any_order(64, 256),
     .needs = "sm_90a"},
    {.name = "in_flight",
     .launch = in_flight,
     .asked = by_tma_tiles<64, 256>,
     .idea = "a group of products goes on while the next tile is waited for",
     .tile = tile_in_any_order(64, 256),
     .needs = "sm_90a"},
    {.name = "two_consumers",
     .launch = two_consumers,
     .asked = by_tma_tiles<128, 256>,
     .idea = "a second warpgroup that multiplies: a tile of B serves 128 rows",
     .tile = tile_in_any_order(128, 256),
     .needs = "sm_90a"},
    {.name = "persistent",
     .launch = persistent,
     .asked = by_tma_tiles<128, 256>,
     .idea = "as many blocks as multiprocessors, which take tile after tile",
     .needs = "sm_90a"},
    {.name = "clusters",
     .launch = clusters,
     .asked = by_tma_tiles<256, 256>,
     .idea = "two blocks need the same tile of B: each loads half of it for both",
     .needs = "sm_90a"},
    {.name = "stored_behind",
     .launch = stored_behind,
     .asked = by_tma_tiles<256, 256>,
     .idea = "TMA stores C while the next tile is multiplied",
     .needs = "sm_90a"},
    {.name = "narrow_tiles",
     .launch = narrow_tiles,
     .asked = narrow_tiles_asks,
     .idea = "tiles of 64 columns where C has few of 256",
     .needs = "sm_90a"},
    {.name = "by_shape",
     .launch = by_shape,
     .asked = by_shape_asks,
     .idea = "the tile with which the busiest multiprocessor is done first",
     .needs = "sm_90a"},
    {.name = "layouts",
     .launch = layouts,
     .asked = layouts_asks,
     .idea = "B or its transpose, rows with gaps, and several products in one launch",
     .needs = "sm_90a"},
    {.name = "epilogue",
     .launch = epilogue,
     .asked = epilogue_asks,
     .idea = "C = act(alpha·A·B + beta·C + bias), before the sums leave the registers",
     .needs = "sm_90a"},
};

/// All products of a launch, from what reference() gives of their A·B: C = act(alpha·A·B + beta·C +
/// bias), in double, of rows (…, N). `before` is C before the launch, without gaps; it may be empty
/// if beta = 0, and `bias` if there is none.
Expected with_epilogue(Expected sums, const Bf16Product& product, std::span<const float> bias,
                       std::span<const float> before = {});

}  // namespace tutorial::tiled_matmul::hopper
