// Part nearest of chapter 03: the smallest elements of each row of a product, and where they are.
//
//   A       M × D, queries    B  N × D, points    float32, row-major, at any address of a float*
//   out     M × k, for each query the numbers of k points, best first, as float32
//   values  M × k, their distances or products, rounded to float32; NaN beside a -1
//
// What is compared is
//
//   distance   Σ (a[d] - b[d])², in double: sum = fma(a[d] - b[d], a[d] - b[d], sum) for d = 0, 1 …
//              The answer is the true one of these numbers, whatever a step computes on the way.
//              Step 3's alone is only what float32 can tell of |a|² + |b|² - 2·a·b, with |a|² and
//              |b|² below 2^116.
//   product    a·b in float32, rounded in whatever order a step adds
//
// Of equal ones the smaller number comes first; 0 and -0 are equal. -∞ is smaller than all others,
// +∞ larger, and each can win; NaN never does. Where fewer than k are left, the rest is -1.
//
// Any M, N, D >= 0. k is 1 to 128, and at most N; N is at most 2^24, since float32 counts no
// further. Without queries nothing is launched. None of these overlap.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial::masked_bmm::nearest {

/// The step that this part goes on from: the product there is written, here it need not be.
inline constexpr const char* after = "four_blocks";

enum class Measure { distance, product };

/// One problem.
struct Search {
  int64_t M = 0, N = 0, D = 0, k = 1;
  Measure measure = Measure::distance;
};

inline constexpr int64_t MOST_NEIGHBOURS = 128, MOST_POINTS = int64_t{1} << 24;

/// Throws Error, one sentence, unless k and N are as above.
void require_possible(const Search& search);

// ---- how the work is cut (cut.cpp)

inline constexpr int STRIP = 128;  // queries of a tile
inline constexpr int TILE = 256;   // points of a tile
inline constexpr int DEPTH = 8;    // of D at a time: a piece
inline constexpr int GROUP = 64;   // points of a tile whose minimum counts, from step 8 on

/// How a search is cut: all tiles of all strips, in a row, are shared out evenly.
struct Cut {
  int64_t strips = 0, tiles = 0, pieces = 0;  // strips; tiles of a strip; pieces of a tile
  int64_t blocks = 0;

  /// Where the share of a block begins.
  __host__ __device__ int64_t first_tile(int64_t block) const {
    return strips * tiles * block / blocks;
  }
  /// Whose share has this tile.
  __host__ __device__ int64_t block_of(int64_t tile) const {
    return ((tile + 1) * blocks - 1) / (strips * tiles);
  }
  __host__ __device__ int64_t groups() const { return tiles * (TILE / GROUP); }
  /// The most blocks that share a strip.
  int64_t parts() const;
  /// A row for each block that shares its strip: how many there are, of M rows in all.
  int64_t rows_of_shares(int64_t M) const;
};
/// The rule: a block for each multiprocessor, but no more than there are tiles.
Cut cut_of(const Search& search, int64_t most_blocks);
Cut cut_of(const Search& search);            // for the device at hand
Cut cut_of_fragments(const Search& search);  // of step 9: a piece has 16 columns
/// Has the device at hand tensor cores that this part can use, those of compute capability 8.0?
bool has_tensor_cores();
/// Are there two groups for each neighbour? Else the k-th smallest of their minima says little, and
/// the steps from 8 on hand over to k_best.
bool has_groups_enough(const Search& search);

// ---- what the steps work with

using Key = unsigned long long;  // a value and its index (key.cuh); of a type that atomics take

inline constexpr int64_t SPARE = 6;  // candidates more than k that get a second look

/// The most minima that the steps from 8 on keep at once, 512 MB. No constant, for the tests' sake.
inline int64_t most_minima = int64_t{1} << 27;
/// How many queries that allows: whole strips. More are answered in parts, one after the other.
int64_t rows_at_once(const Search& search);

/// For how many candidates of a row there is room, from step 8 on. Of many groups the k-th smallest
/// minimum has little more than k values below it, of 2·k groups about 1.4·k; rounding adds some.
int64_t room_of(const Search& search);

/// What may be among the k best of each row, in any order.
struct Candidates {
  int* count;   // (M): how many there are, even of those that found no room
  int* points;  // (M, room)
  int room;
};

/// Global memory for one search, in the workspace of a launch.
struct Scratch {
  float* packed;           // A and B, piece by piece (pack.cu)
  float* product;          // (M, N), a row begins at a multiple of 16 bytes: step 1's
  Key* keys;               // (M, parts, k + SPARE): what is left of each row
  float* norms;            // (N): |b|², NaN for what is too large or not a number
  unsigned* about_points;  // the largest norm's bits; is any point too large?
  Key* doubtful;           // (1 + M): how many rows must be looked at in full; which
  // From step 8 on, in place of the keys:
  unsigned* minima;  // (M, groups): the smallest of each group of points, as in a key
  float* limits;     // (strips, STRIP): what is beyond cannot be among the k best
  Candidates candidates;
  unsigned* about_queries;  // as of the points: step 9's
  uint4* fragments;         // A and B in fp16 (fragments.cu): step 9's
};

// ---- the steps

/// Writes out and values, in the stream. Waits for nothing. Throws Error, before any launch and for
/// M = 0 too, for a search that it cannot do; and where there are queries and the workspace is
/// smaller than workspace_bytes() says.
using Launcher = void(const Search& search, const float* A, const float* B, float* out,
                      float* values, Workspace workspace, cudaStream_t stream);

Launcher product_then_minimum, fused_minimum, distances, second_look, atomic_lists, lists_on_chip,
    k_best, limits_first, tensor_cores;

/// How many bytes of workspace a step needs on this device: much for step 1, which keeps all
/// products; M·N/16 bytes and some from step 8 on, but no more than most_minima for these.
int64_t workspace_bytes(const Search& search, Launcher* step);
/// Where in it what is.
Scratch scratch_in(Workspace workspace, const Search& search, Launcher* step);

// Step::features: what it can do; and may a distance win that is larger by float32's rounding?
inline constexpr unsigned PRODUCT = 1, DISTANCE = 2, MANY = 4, ROUNDED = 8;

/// Of a search for distances with as many doubtful rows as there can be.
Asks<Launcher> minima_ask, distances_ask, second_look_asks, atomic_lists_ask, k_best_asks,
    limits_first_asks, tensor_cores_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "product_then_minimum",
     .launch = product_then_minimum,
     .asked = minima_ask,
     .idea = "the product, then a kernel for each row's minimum",
     .features = PRODUCT},
    {.name = "fused_minimum",
     .launch = fused_minimum,
     .asked = minima_ask,
     .idea = "the minimum where the product is; C is never written",
     .features = PRODUCT},
    {.name = "distances",
     .launch = distances,
     .asked = distances_ask,
     .idea = "distances from products: |a|² + |b|² - 2·a·b",
     .features = DISTANCE | ROUNDED},
    {.name = "second_look",
     .launch = second_look,
     .asked = second_look_asks,
     .idea = "the best two looked at exactly: the second one proves the first",
     .features = DISTANCE},
    {.name = "atomic_lists",
     .launch = atomic_lists,
     .asked = atomic_lists_ask,
     .idea = "a list of the best for each row, by a chain of atomics",
     .features = PRODUCT | DISTANCE | MANY},
    {.name = "lists_on_chip",
     .launch = lists_on_chip,
     .asked = k_best_asks,
     .idea = "a block's own lists, in shared memory where there is room",
     .features = PRODUCT | DISTANCE | MANY},
    {.name = "k_best",
     .launch = k_best,
     .asked = k_best_asks,
     .idea = "a buffer before each list; a warp merges it when it is half full",
     .features = PRODUCT | DISTANCE | MANY},
    {.name = "limits_first",
     .launch = limits_first,
     .asked = limits_first_asks,
     .idea = "the product twice: each row's limit, then all that is within it",
     .features = DISTANCE | MANY},
    {.name = "tensor_cores",
     .launch = tensor_cores,
     .asked = tensor_cores_asks,
     .idea = "both products on tensor cores, of numbers rounded to fp16",
     .features = DISTANCE | MANY},
};

/// Can it do this search?
bool can_do(const Step<Launcher>& step, const Search& search);
/// Throws Error, one sentence, unless the step of this name can do the search.
void require_can_do(const char* step, const Search& search);

/// The second half of step 1, also used after cuBLAS: rows of C begin `row_floats` apart.
void row_minimum(const Search& search, const float* C, int64_t row_floats, float* out,
                 float* values, cudaStream_t stream);

// ---- what all steps share (pack.cu)

/// A and B as the tiles want them: a piece is DEPTH rows of STRIP queries or TILE points; then
/// comes the next piece of the same, then the next strip or tile. Zeros fill up all of them.
struct Packed : Cut {
  const float *A, *B;
};
Packed pack(const Search& search, const float* A, const float* B, const Scratch& scratch,
            cudaStream_t stream);

// ---- what the steps from 3 on share (exact.cu)

/// norms and about_points, before the search.
void measure_points(const Search& search, const float* B, const Scratch& scratch,
                    cudaStream_t stream);
/// After it: of each row, merges the parts' lists of `listed` keys; for distances, looks again at
/// what is left, exactly, and notes the rows where that proves nothing.
void finish(const Search& search, const float* A, const float* B, int64_t parts, int64_t listed,
            float* out, float* values, const Scratch& scratch, cudaStream_t stream);
/// From step 4 on: the rows that finish() noted are answered from all points, exactly.
void scan_doubtful(const Search& search, const Packed& packed, const float* A, const float* B,
                   float* out, float* values, const Scratch& scratch, cudaStream_t stream);

// ---- step 9's (exact.cu, fragments.cu)

/// about_queries.
void measure_queries(const Search& search, const float* A, const Scratch& scratch,
                     cudaStream_t stream);
/// A and B as tensor cores want them, in pieces of 16 columns. Not numbers, but bits of fp16.
Packed pack_fragments(const Search& search, const float* A, const float* B, const Scratch& scratch,
                      cudaStream_t stream);

// ---- what the steps from 8 on share (candidates.cu)

/// Answers a search of more queries than rows_at_once() by several launches of the step.
void launch_in_parts(Launcher* step, const Search& search, const float* A, const float* B,
                     float* out, float* values, Workspace workspace, cudaStream_t stream);
/// Between the two products: scratch.limits from scratch.minima; no candidates yet.
/// The products are in float32, or of fp16 numbers.
void find_limits(const Search& search, const float* A, const Scratch& scratch, cudaStream_t stream,
                 bool of_halves);
/// After them: the k best of each row's candidates. Notes the rows where that proves nothing.
void choose(const Search& search, const float* A, const float* B, float* out, float* values,
            const Scratch& scratch, cudaStream_t stream);

// ---- the reference (reference.cpp)

/// The rows `rows` of out, from all products or distances in double. Distances leave one answer.
/// Products may be rounded, and the distances of a ROUNDED step: where the element of `got`, which
/// holds all of out, is as good as the best by the rounding's bound, it is the value, too. Without
/// `got` rounding is no excuse.
Expected reference(const Search& search, std::span<const float> A, std::span<const float> B,
                   std::span<const int64_t> rows, std::span<const float> got = {},
                   bool rounded_distances = false);
/// The rows `rows` of values, for the points that all of out names, which are points or -1.
Expected values_reference(const Search& search, std::span<const float> A, std::span<const float> B,
                          std::span<const int64_t> rows, std::span<const float> out);

}  // namespace tutorial::masked_bmm::nearest
