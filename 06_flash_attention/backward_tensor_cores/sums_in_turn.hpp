// What launchers of steps 4 to 7 need: sums of dq in the workspace, to which blocks of keys add
// their parts in turn.
#pragma once

#include "backward_tensor_cores/backward_tensor_cores.hpp"
#include "common/kernel/grid.hpp"
#include "hopper/launch.hpp"
#include "hopper/schedule.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

/// Keys of a block: from step 5 on two warpgroups have 64 each.
inline constexpr int KEYS = 128;
/// Queries of a tile in steps 5 to 7, for a head padded to D = 64 or 128: one or two times 64. So
/// each warpgroup has 64×64 of the tile's dq: of 128 queries half of the rows, of 64 queries half
/// of 128 columns.
__host__ __device__ constexpr int queries_of_tile(int D) {
  return D == 64 ? 128 : 64;
}
/// What a head is padded to, and the queries of a tile then.
inline int padded_head(const Attention& shape) {
  return shape.HS <= 64 ? 64 : 128;
}
inline int64_t query_tile(const Attention& shape) {
  return queries_of_tile(padded_head(shape));
}
/// Numbers of such a part.
inline constexpr int PART = 64 * 64;

/// Tiles of queries of all heads.
inline int64_t query_tiles(const Attention& shape) {
  return shape.B * shape.NH * ceil_div(shape.Tq, query_tile(shape));
}

/// What the workspace has.
struct Sums {
  SumCounts counts;
  int size = 0, parts = 0;  // queries of a tile, and the parts of its dq that have turns
  /// (tiles, 2, size): what a query's weights are divided by, in log2, and D.
  float* of_queries;
  /// (counts.of_queries, tiles, size·D): of each part of dq the sums as registers hold them. In
  /// steps 5 to 7 (counts.of_queries, tiles, 2, PART), those of a lane side by side.
  float* dq;
  /// (counts.of_queries, tiles, parts): how many blocks of keys have added to it.
  unsigned* turns;
  /// The next ticket: blocks are numbered as they begin.
  unsigned long long* next_ticket;
  /// Where there are several of dk and dv, as dq's lie: (64 keys of a head, counts.of_keys, dk or
  /// dv, D/64, PART).
  float* of_keys;
};

/// Takes them from the workspace, for tiles of query_tile() queries in 2 parts, or of half as many
/// in one. Throws Error when it has not sums_bytes().
Sums take_sums(const Attention& shape, const char* step, Workspace workspace, int64_t size,
               int parts, const SumCounts& counts = {});

/// Before the kernel: what belongs to the queries, and 0 as turns and ticket.
void sum_rows(const Attention& shape, const Tensors& at, const Sums& sums, cudaStream_t stream);

/// After it: dq, and dk and dv of which there are several sums, added, times `factor` but for dv,
/// and rounded.
void store_sums(const Attention& shape, const Tensors& at, const Sums& sums, float factor,
                cudaStream_t stream);

/// What a kernel loads by.
struct Maps {
  CUtensorMap q, k, v, dout, of_queries;
};
Maps maps_of(const Attention& shape, const Tensors& at, const Sums& sums);

/// The order of blocks: of some heads the first keys, then the second ones, and so on. So the
/// blocks that run have few heads, whose sums stay in the L2 cache; but neighbours in the order are
/// not of one head, where each waits for the one before. On an H200 sums of so many bytes were
/// best: few in steps 5 to 7; more in step 4, whose blocks take longer for a tile.
inline constexpr int64_t SUM_BYTES = int64_t{8} << 20, BYTES_OF_MMA = int64_t{32} << 20;
inline constexpr int64_t LEAST_HEADS = 4;
hopper::Schedule schedule_of_keys(const Attention& shape, const SumCounts& counts = {},
                                  int64_t sum_bytes = SUM_BYTES);

/// Without pairs the gradients are zeros, and nothing else is to do: true.
bool is_done_without(const Attention& shape, const Tensors& at, cudaStream_t stream);

/// Throws Error for what steps 5 to 7 do not take.
void require_hopper(const Attention& shape, const char* step, const Tensors& at);

}  // namespace tutorial::flash_attention::backward_tensor_cores
