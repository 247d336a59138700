// Chapter 6: attention in one kernel, which never writes the T×T scores to global memory.
//
//   out[i] = Σ_j p_ij · v[j],   p_ij = exp(s_ij − lse_i),   s_ij = q[i]·k[j] / √HS
//   lse_i  = log Σ_j exp(s_ij)              over the keys j that query i may look at
//
// q and out are (B, NH, Tq, HS), k and v (B, NH_kv, Tk, HS), lse is (B, NH, Tq). All are float32,
// row-major, in global memory, at any address that a float* can have, and do not overlap.
//
// Causal: query i may look at key j if j <= i + (Tk − Tq). The last query sees all keys: the mask
// is aligned at the bottom right, as in FlashAttention from version 2.1 on.
//
// Grouped queries: NH is a multiple of NH_kv; NH / NH_kv neighbouring heads share keys and values.
//
// A query without keys, or with scores of −∞ alone, gets zeros and lse = −∞. A NaN or +∞ among its
// scores gives NaN, as in PyTorch. v is finite: a masked key's value may be multiplied by 0.
//
// The part joint is simpler: y = (A·B)·C, attention without the softmax (joint/joint.hpp). The part
// faster goes on from the last step here, and any_shape from there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::flash_attention {

/// How far apart the elements of a tensor lie: element d of token t, head h of sequence b lies at
/// b·batch + h·head + t·token + d.
struct Strides {
  int64_t batch = 0, head = 0, token = 0;

  /// Where a token's row begins.
  __host__ __device__ int64_t at(int64_t b, int64_t h, int64_t t) const {
    return b * batch + h * head + t * token;
  }
};

struct TensorStrides {
  Strides q = {}, k = {}, v = {}, out = {};
};

/// How many queries, and keys, each sequence of the batch has: B numbers in global memory, for the
/// reference on the host. nullptr: all have Tq, or Tk. What is less than 0 is 0, what is more than
/// Tq or Tk is that.
struct Lengths {
  const int64_t *queries = nullptr, *keys = nullptr;
};

/// One problem. All sizes are >= 0.
struct Attention {
  int64_t B = 1, NH = 1, NH_kv = 1;  // batch, query heads, key and value heads
  int64_t Tq = 1, Tk = 1;            // queries and keys of a head
  int64_t HS = 1;                    // head size
  bool causal = true;
  // For the last steps of the parts tensor_cores and hopper; all other steps refuse strides. A
  // tensor whose tokens are 0 apart is as above, without gaps.
  TensorStrides strides = {};
  // For the steps named lengths. What lies past a sequence's length is nothing: its numbers are not
  // looked at, and queries there get zeros and lse = −∞. The mask is aligned at the lengths.
  Lengths lengths = {};

  /// Rows of out: one a query.
  __host__ __device__ int64_t rows() const { return B * NH * Tq; }
  /// Heads of q and out that share one head of k and v. Head h of the B·NH uses head h / group() of
  /// the B·NH_kv.
  __host__ __device__ int64_t group() const { return NH / NH_kv; }
  /// Query i may look at the keys 0 … visible_keys(i) − 1.
  __host__ __device__ int64_t visible_keys(int64_t i) const {
    const int64_t keys = causal ? i + (Tk - Tq) + 1 : Tk;
    return keys < 0 ? 0 : (keys < Tk ? keys : Tk);
  }
  /// The problem of one sequence: the same with its own Tq and Tk.
  __host__ __device__ Attention sequence(int64_t b) const {
    const auto within = [b](const int64_t* of, int64_t most) {
      return of == nullptr || of[b] > most ? most : of[b] < 0 ? 0 : of[b];
    };
    Attention own = *this;
    own.Tq = within(lengths.queries, Tq);
    own.Tk = within(lengths.keys, Tk);
    return own;
  }
  /// The first query that may look at key j.
  __host__ __device__ int64_t first_query(int64_t j) const {
    const int64_t query = causal ? j - (Tk - Tq) : 0;
    return query > 0 ? query : 0;
  }
};

/// What a step may take besides sizes.
inline constexpr unsigned STRIDES = 1, LENGTHS = 2;

/// Throws Error unless all sizes are >= 0 and NH is a multiple of NH_kv; and for what the step does
/// not take.
void require_valid(const Attention& shape, unsigned takes = 0);

// ---- the steps

/// Writes out and lse. `scratch` is shape.rows() floats that a kernel may use as it likes. Does
/// nothing when out is empty. Waits for nothing. Throws Error, before any launch and for an empty
/// out too, when the shape is invalid or its head size too large for the kernel on this device.
using Launcher = void(const Attention& shape, const float* q, const float* k, const float* v,
                      float* out, float* lse, float* scratch);

Launcher kv_outer, q_outer, vector_reads, score_patch, output_patch, square_patch, any_head_size,
    longest_first, mask_at_edges, two_buffers;

/// q_outer in a stream, for the parts any_shape and backward.
void q_outer_on(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, cudaStream_t stream);

/// How many keys a causal mask hides from all queries of a tile, in all tiles of Br queries and Bc
/// keys of a head: they are read neither in K nor in V. `whole`: what is read of a last tile that
/// has fewer keys is as long as another's.
int64_t hidden_keys(const Attention& shape, int64_t Br, int64_t Bc, bool whole = false);

/// In tiles of Br queries and 32 keys: each tile of queries reads all keys that it sees.
template <int Br, class... Rest>
std::vector<Asked> by_tiles(const Attention& s, Rest...) {
  Asked asked = {.loads = 4 * s.B * s.NH * s.HS * (s.Tq + 2 * s.Tk * ceil_div(s.Tq, Br)),
                 .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)};
  asked.loads -= 8 * s.B * s.NH * s.HS * hidden_keys(s, Br, 32);
  return {asked};
}
Asks<Launcher> kv_outer_asks, by_tiles_for_head_size;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "kv_outer",
     .launch = kv_outer,
     .asked = kv_outer_asks,
     .idea = "a tile of S at a time; O, m, l go through global memory (FlashAttention 1)"},
    {.name = "q_outer",
     .launch = q_outer,
     .asked = by_tiles<32>,
     .idea = "queries outside: O, m, l stay on the chip (FlashAttention 2)"},
    {.name = "vector_reads",
     .launch = vector_reads,
     .asked = by_tiles<32>,
     .idea = "reads of 16 bytes for S; smaller heads are padded to 64"},
    {.name = "score_patch",
     .launch = score_patch,
     .asked = by_tiles<32>,
     .idea = "1×4 scores a thread: 8 lanes share a row, where 32 did"},
    {.name = "output_patch",
     .launch = output_patch,
     .asked = by_tiles<32>,
     .idea = "O in registers: 1×8 of it a thread"},
    {.name = "square_patch",
     .launch = square_patch,
     .asked = by_tiles<64>,
     .idea = "four rows a thread: 4×4 of S and 4×8 of O"},
    {.name = "any_head_size",
     .launch = any_head_size,
     .asked = by_tiles_for_head_size,
     .idea = "a template: tiles for head sizes up to 32, 64 and 128"},
    {.name = "longest_first",
     .launch = longest_first,
     .asked = by_tiles_for_head_size,
     .idea = "the blocks with the most keys start first"},
    {.name = "mask_at_edges",
     .launch = mask_at_edges,
     .asked = by_tiles_for_head_size,
     .idea = "the mask is asked only on the diagonal and in the last tile"},
    {.name = "two_buffers",
     .launch = two_buffers,
     .asked = by_tiles_for_head_size,
     .idea = "K and V arrive while the products before them are computed"},
};

// ---- the reference

struct Reference {
  Expected out, lse;
};

/// The rows `rows` (of B·NH·Tq) of out and lse, in double, with a bound on the error of a float32
/// kernel whose tiles have at least 16 keys; reference.cpp derives it.
Reference reference(const Attention& shape, std::span<const float> q, std::span<const float> k,
                    std::span<const float> v, std::span<const int64_t> rows);

}  // namespace tutorial::flash_attention
