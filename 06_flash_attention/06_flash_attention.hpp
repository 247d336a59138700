// Chapter 6: attention in one kernel, which never writes the T×T scores to device memory.
//
//   out[i] = Σ_j p_ij · v[j],   p_ij = exp(s_ij − lse_i),   s_ij = q[i]·k[j] / √HS
//   lse_i  = log Σ_j exp(s_ij)              over the keys j that query i may look at
//
// q and out are (B, NH, Tq, HS), k and v (B, NH_kv, Tk, HS), lse is (B, NH, Tq). All are float32,
// row-major, in device memory, at any address that a float* can have, and do not overlap.
//
// Causal: query i may look at key j if j <= i + (Tk − Tq). The last query sees all keys: the mask
// is aligned at the bottom right, as in FlashAttention from version 2.1 on.
//
// Grouped queries: NH is a multiple of NH_kv; NH / NH_kv neighbouring heads share keys and values.
//
// A query without keys, or with scores of −∞ alone, gets zeros and lse = −∞. A NaN or +∞ among its
// scores gives NaN, as in PyTorch. v is finite: a masked key's value may be multiplied by 0.
//
// Step 1 is simpler: y = (A·B)·C, attention without the softmax. It has a list of its own, below.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::flash {

/// One problem. All sizes are >= 0.
struct Attention {
  int64_t B = 1, NH = 1, NH_kv = 1;  // batch, query heads, key and value heads
  int64_t Tq = 1, Tk = 1;            // queries and keys of a head
  int64_t HS = 1;                    // head size
  bool causal = true;

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
  /// The first query that may look at key j.
  __host__ __device__ int64_t first_query(int64_t j) const {
    const int64_t query = causal ? j - (Tk - Tq) : 0;
    return query > 0 ? query : 0;
  }
};

/// Throws Error unless all sizes are >= 0 and NH is a multiple of NH_kv.
void require_valid(const Attention& shape);

// ---- the kernels of steps 2 to 6

/// Writes out and lse. `scratch` is rows() floats that a kernel may use as it likes. Does nothing
/// when out is empty. Waits for nothing. Throws Error, before any launch, when the shape is invalid
/// or its head size too large for the kernel on this device.
using Launcher = void(const Attention& shape, const float* q, const float* k, const float* v,
                      float* out, float* lse, float* scratch);

Launcher kv_outer, q_outer, register_tiles, pipelined, outer_products;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "kv_outer",
     .launch = kv_outer,
     .idea = "a tile of S at a time; O, m, l go through device memory (FlashAttention 1)"},
    {.name = "q_outer",
     .launch = q_outer,
     .idea = "queries outside: O, m, l stay on the chip (FlashAttention 2)"},
    {.name = "register_tiles",
     .launch = register_tiles,
     .idea = "a thread owns 8 rows of a tile of S and of O in registers"},
    {.name = "pipelined",
     .launch = pipelined,
     .idea = "K and V arrive while the products before them are computed"},
    {.name = "outer_products",
     .launch = outer_products,
     .idea = "Q, K, P transposed: registers for a product from both banks"},
};

/// 1/√HS, which the scores are multiplied by.
float score_scale(const Attention& shape);

/// Lets `kernel` have `bytes` of dynamic shared memory a block: more than 48 KB must be asked for.
/// Throws Error when the device does not allow that much; `what` and `size` say whose need it is:
/// "head size", 64.
void allow_shared_memory(const void* kernel, int64_t bytes, const char* what, int64_t size);
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), int64_t bytes, const char* what,
                         int64_t size) {
  allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes, what, size);
}

/// gridDim.x for so many blocks. Throws Error above 2^31 − 1.
unsigned grid_blocks(int64_t blocks);

// ---- step 1: two products as one

namespace joint {

/// y = (A·B)·C with A m×k, B k×n, C n×k, y m×k. `y_tilde` is m×n floats that a kernel may use.
using Launcher = void(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                      int64_t m, int64_t n, int64_t k);

Launcher joint_tiling;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "joint_tiling",
     .launch = joint_tiling,
     .idea = "two products as one; the first one's tiles never leave the chip"},
};

/// The same, one product after the other; A·B goes through device memory. To compare with.
Launcher two_products;

inline constexpr int TILES[] = {16, 32, 64};  // the tile sizes b to choose from
/// The smallest of TILES that covers a row of y, else the largest.
int tile_for(int64_t k);

struct Counts {
  int64_t flop = 0;      // a multiply-add is two
  int64_t accesses = 0;  // floats read from or written to device memory by the kernel's threads
  bool operator==(const Counts&) const = default;
};

/// Runs the same kernel with tile size b, counting at the very place where an element is read,
/// written or multiplied. Waits for it.
Counts count_two_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                          int64_t m, int64_t n, int64_t k, int b);
Counts count_joint_tiling(const float* A, const float* B, const float* C, float* y, int64_t m,
                          int64_t n, int64_t k, int b);

/// The formulas of the article "When to tile two matrix multiplies".
Counts article_two_products(int64_t m, int64_t n, int64_t k, int b);
Counts article_joint_tiling(int64_t m, int64_t n, int64_t k, int b);

/// The rows `rows` of y, in double.
Expected reference(std::span<const float> A, std::span<const float> B, std::span<const float> C,
                   int64_t n, int64_t k, std::span<const int64_t> rows);

}  // namespace joint

// ---- the reference

struct Reference {
  Expected out, lse;
};

/// The rows `rows` (of B·NH·Tq) of out and lse, in double, with a bound on the error of a float32
/// kernel whose tiles have at least 16 keys; reference.cpp derives it.
Reference reference(const Attention& shape, std::span<const float> q, std::span<const float> k,
                    std::span<const float> v, std::span<const int64_t> rows);

}  // namespace tutorial::flash
