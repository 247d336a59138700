// Part backward_tensor_cores of chapter 6: the gradients of attention in bf16, all products on
// tensor cores.
//
// Formulas, shapes and masks are those of part backward (backward/backward.hpp). q, k, v, out, dout
// and the gradients are bf16, lse is float32, as part tensor_cores' forward pass leaves it. The
// head size is at most 256; steps any_shape and by_shape take all of them, at any address that a
// bf16* can have, and the others multiples of 8 up to 128 in tensors that begin at multiples of 16
// bytes.
//
// What is rounded: sums are float32; p is rounded to bf16 before it is multiplied by dout, ds
// before it is multiplied by q and k, and the gradients at the end. The result has the same bits on
// every run.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "backward/backward.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

using bf16 = __nv_bfloat16;

/// Where everything is.
struct Tensors {
  const bf16 *q, *k, *v, *out, *dout;
  const float* lse;
  bf16 *dq, *dk, *dv;
};

/// The step of part tensor_cores whose products step 1 has.
inline constexpr const char* after = "tensor_cores/one_barrier";

// ---- the steps

/// Writes dq, dk and dv, in the stream. Waits for nothing. Throws Error, before any launch and
/// where nothing is to do too: when the shape is invalid; when the step does not take its head size
/// or an address (above); before compute capability 8.0; and where the workspace has not what the
/// step needs, at most workspace_bytes().
using Launcher = void(const Attention& shape, const Tensors& at, Workspace workspace,
                      cudaStream_t stream);

Launcher seven_products, one_launch, any_shape, five_products, warpgroups, scores_ahead, more_sums,
    by_shape;

Asks<Launcher> seven_products_asks, one_launch_asks, any_shape_asks, five_products_asks,
    warpgroups_asks, scores_ahead_asks, more_sums_asks, by_shape_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "seven_products",
     .launch = seven_products,
     .asked = seven_products_asks,
     .idea = "a block has keys, or queries, and the forward pass's two products do all seven",
     .needs = "sm_80"},
    {.name = "one_launch",
     .launch = one_launch,
     .asked = one_launch_asks,
     .idea = "blocks of keys and blocks of queries in one kernel: none waits for the other kind",
     .needs = "sm_80"},
    {.name = "any_shape",
     .launch = any_shape,
     .asked = any_shape_asks,
     .idea = "head sizes up to 256: dk and dv have blocks of their own; rows at any address",
     .needs = "sm_80"},
    {.name = "five_products",
     .launch = five_products,
     .asked = five_products_asks,
     .idea = "blocks of keys make dq, too, and add their parts in turn: the same bits in each run",
     .needs = "sm_80"},
    {.name = "warpgroups",
     .launch = warpgroups,
     .asked = warpgroups_asks,
     .idea = "the five products by wgmma and TMA; threads of their own add parts of dq",
     .needs = "sm_90a"},
    {.name = "scores_ahead",
     .launch = scores_ahead,
     .asked = scores_ahead_asks,
     .idea = "a tile's scores are made with the products before: their exp waits for nothing",
     .needs = "sm_90a"},
    {.name = "more_sums",
     .launch = more_sums,
     .asked = more_sums_asks,
     .idea = "few blocks: several sums of dk and dv, so that more work; of dq, so that none waits",
     .needs = "sm_90a"},
    {.name = "by_shape",
     .launch = by_shape,
     .asked = by_shape_asks,
     .idea = "step any_shape or more_sums, whichever an estimate says is faster",
     .needs = "sm_80"},
};

/// The largest head size that a step takes.
inline constexpr int64_t LARGEST_HEAD_SIZE = 256;

/// In step 1: rows of a block, and of a tile that it walks over.
inline constexpr int OWN_ROWS = 128, OTHER_ROWS = 64;

/// How many bytes of workspace steps 1 to 3 need: for D.
inline int64_t row_dots_bytes(const Attention& shape) {
  return Workspace::bytes_of<float>(shape.rows());
}

/// How many sums there are of what belongs to the same rows, in steps 4 to 7: of dk and dv, each
/// with some of the heads that share the keys; and of dq, each with some of the blocks of keys.
struct SumCounts {
  int64_t of_keys = 1, of_queries = 1;
};
/// How many bytes they need: for what belongs to the queries, for sums of dq, for whose turn each
/// part is, for a ticket, and where there are several for sums of dk and dv.
int64_t sums_bytes(const Attention& shape, const SumCounts& counts = {});

/// The most that a step needs on the current device.
int64_t workspace_bytes(const Attention& shape);

// ---- The rules, for a device of so many multiprocessors (rules.cpp).

/// How many sums step 7 has.
SumCounts sum_counts(const Attention& shape, int multiprocessors);

/// In step 3, for heads above 128: has a block 64 rows, not 128?
bool prefers_64_rows(const Attention& shape, int multiprocessors);

/// Is step 7 faster than step 3, by an estimate? Both must take the problem.
bool prefers_hopper(const Attention& shape, int multiprocessors);

}  // namespace tutorial::flash_attention::backward_tensor_cores
