// Part backward_tensor_cores of chapter 6: the gradients of attention in bf16, all products on
// tensor cores.
//
// Formulas, shapes and masks are those of part backward (backward/backward.hpp). q, k, v, out, dout
// and the gradients are bf16, lse is float32, as part tensor_cores' forward pass leaves it. The
// head size is at most 256; step any_shape takes all of them, at any address that a bf16* can have,
// and the others multiples of 8 up to 128 in tensors that begin at multiples of 16 bytes.
//
// What is rounded: sums are float32; p is rounded to bf16 before it is multiplied by dout, ds
// before it is multiplied by q and k, and the gradients at the end. The result has the same bits on
// every run.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
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
/// or an address (above); before compute capability 8.0; and where the workspace is smaller than
/// workspace_bytes() says.
using Launcher = void(const Attention& shape, const Tensors& at, Workspace workspace,
                      cudaStream_t stream);

Launcher seven_products, any_shape, warpgroups, scores_ahead;

/// The kernels of step 1; and of step 2, where they are not those of step 1.
Asks<Launcher> kernels_ask, any_kernels_ask;
Asks<Launcher> warpgroups_asks, scores_ahead_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "seven_products",
     .launch = seven_products,
     .asked = kernels_ask,
     .idea = "a block has keys, or queries, and the forward pass's two products do all seven",
     .needs = "sm_80"},
    {.name = "any_shape",
     .launch = any_shape,
     .asked = any_kernels_ask,
     .idea = "head sizes up to 256, of which dv and dk take a walk each; rows at any address",
     .needs = "sm_80"},
    {.name = "warpgroups",
     .launch = warpgroups,
     .asked = warpgroups_asks,
     .idea = "five products by wgmma and TMA; blocks of keys add their parts of dq in turn",
     .needs = "sm_90a"},
    {.name = "scores_ahead",
     .launch = scores_ahead,
     .asked = scores_ahead_asks,
     .idea = "a tile's scores are made with the products before: their exp waits for nothing",
     .needs = "sm_90a"},
};

/// The largest head size that a step takes.
inline constexpr int64_t LARGEST_HEAD_SIZE = 256;

/// In step 1: rows of a block, and of a tile that it walks over.
inline constexpr int OWN_ROWS = 128, OTHER_ROWS = 64;

/// How many bytes of workspace steps 1 and 2 need: for D.
inline int64_t row_dots_bytes(const Attention& shape) {
  return Workspace::bytes_of<float>(shape.rows());
}
/// And steps 3 and 4: for what belongs to the queries, for sums of dq, for whose turn each part is,
/// and for a ticket.
inline int64_t sums_bytes(const Attention& shape) {
  const int64_t size = shape.HS <= 64 ? 128 : 64;
  const int64_t tiles = shape.B * shape.NH * ceil_div(shape.Tq, size);
  return Workspace::bytes_of<float>(tiles * 2 * size) + Workspace::bytes_of<float>(tiles * 8192) +
         Workspace::bytes_of<unsigned>(tiles * 2) +
         Workspace::bytes_of<unsigned long long>(std::min<int64_t>(tiles, 1));
}
/// The most that a step needs.
inline int64_t workspace_bytes(const Attention& shape) {
  return std::max(row_dots_bytes(shape), sums_bytes(shape));
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
