// What the steps of the backward pass share: the weight of a pair, D, and how rows are copied.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "backward/backward.hpp"
#include "faster/thread_rows.cuh"
#include "tiles.cuh"

namespace tutorial::flash_attention::backward {

using namespace faster;  // the words of its headers

/// log₂ of what divides a query's weights, as weight() takes it: LOG2_E·lse. Of a query that sees
/// no key, and past the last one, it is +∞: all its weights are 2^−∞ = 0.
__device__ inline float log2_of_sum(float lse) {
  return lse == -INFINITY ? INFINITY : LOG2_E * lse;
}

/// p = exp(dot/√HS − lse), where `scale` is LOG2_E/√HS.
__device__ inline float weight(float dot, float scale, float log2_sum) {
  return exp2f(scale * dot - log2_sum);
}

/// What a kernel is given: the tensors, and D in the workspace.
struct Operands : Tensors {
  const float* D;
};

/// Copies COUNT rows of a (rows, HS) matrix, from row `row0` on, to shared memory; zeros where it
/// has none, and up to Tile::D columns. In steps 2 to 4.
template <class Tile, int COUNT>
__device__ void load_rows(float* to, const float* matrix, int64_t row0, int64_t rows, int HS) {
  load_tile<Tile::THREADS / WARP>(to, COUNT, Tile::D, Tile::STRIDE, matrix, row0, rows, HS);
}

/// The tiles of queries that a block of keys, from j0 on, walks over: all that see its first key,
/// of one head after the other of those that share the keys. Of tile n the head, and its first
/// query. From step 3 on.
template <class Tile>
struct QueryTiles {
  const Attention& shape;
  int64_t kv_head;
  int first, of_a_head, count;
  __device__ QueryTiles(const Attention& of, int64_t head_of_keys, int64_t j0)
      : shape(of), kv_head(head_of_keys), first(static_cast<int>(of.first_query(j0) / Tile::COLS)) {
    const int end = static_cast<int>(ceil_div(shape.Tq, Tile::COLS));
    of_a_head = end > first ? end - first : 0;
    count = static_cast<int>(shape.group()) * of_a_head;
  }
  __device__ int64_t head(int n) const { return kv_head * shape.group() + n / of_a_head; }
  __device__ int64_t i0(int n) const { return int64_t{first + n % of_a_head} * Tile::COLS; }
};

/// D_i = dout_i·out_i for all rows: row_dots.cu. Throws Error for more blocks than a grid can have.
void row_dots(const Attention& shape, const Tensors& at, float* D, cudaStream_t stream);

}  // namespace tutorial::flash_attention::backward
