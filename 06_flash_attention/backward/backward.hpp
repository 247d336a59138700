// Part backward of chapter 6: the gradients of attention, from what the forward pass left behind.
//
//   given dout, the gradient of a loss with respect to out = softmax(q·kᵀ/√HS)·v:
//
//   p_ij  = exp(s_ij − lse_i)               again, from q, k and the log-sum-exp: it was not stored
//   D_i   = dout_i·out_i                    a number a row
//   ds_ij = p_ij·(dout_i·v_j − D_i)
//   dv_j  = Σ_i p_ij·dout_i,   dk_j = Σ_i ds_ij·q_i / √HS,   dq_i = Σ_j ds_ij·k_j / √HS
//
// Shapes and masks are those of the forward pass (06_flash_attention.hpp): dq, dout and out are as
// q, dk as k, dv as v. A head of dk and dv is the sum over the query heads that share it. All are
// float32, row-major, in global memory, at any address that a float* can have, and do not overlap.
//
// All of it is finite, but for lse: −∞ says that the query saw no key, and its gradients are zeros.
// The result has the same bits on every run: no sum is left to the order in which blocks end.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "06_flash_attention.hpp"
#include "backward/tile_sizes.hpp"
#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/step.hpp"
#include "common/kernel/workspace.hpp"

namespace tutorial::flash_attention::backward {

/// Where everything is.
struct Tensors {
  const float *q, *k, *v, *out, *dout, *lse;
  float *dq, *dk, *dv;
};

/// The road's step that these go on from: the forward pass that leaves lse.
inline constexpr const char* after = "q_outer";

// ---- the steps

/// Writes dq, dk and dv, in the stream. Waits for nothing. Throws Error, before any launch and
/// where nothing is to do too, when the shape is invalid or its head size too large for the kernels
/// on this device; and where the workspace is smaller than workspace_bytes() says.
using Launcher = void(const Attention& shape, const Tensors& at, Workspace workspace,
                      cudaStream_t stream);

Launcher unfused, stored_ds, fused, register_tiles, prefetch, five_products, bounded_parts;

/// The kernels of all steps.
Asks<Launcher> kernels_ask;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "unfused",
     .launch = unfused,
     .asked = kernels_ask,
     .idea = "the weights and their gradients of all pairs go through global memory"},
    {.name = "stored_ds",
     .launch = stored_ds,
     .asked = kernels_ask,
     .idea = "dk and dv are summed where the pairs are computed; only ds is stored, for dq"},
    {.name = "fused",
     .launch = fused,
     .asked = kernels_ask,
     .idea = "dq's own kernel computes the pairs again: none are stored"},
    {.name = "register_tiles",
     .launch = register_tiles,
     .asked = kernels_ask,
     .idea = "8×8 pairs a thread in registers; reads of 16 bytes"},
    {.name = "prefetch",
     .launch = prefetch,
     .asked = kernels_ask,
     .idea = "asynchronous copies: the next tile arrives while this one is multiplied"},
    {.name = "five_products",
     .launch = five_products,
     .asked = kernels_ask,
     .idea = "dq's parts are stored and added in order: nothing is computed twice"},
    {.name = "bounded_parts",
     .launch = bounded_parts,
     .asked = kernels_ask,
     .idea = "so many tiles of keys at a time that the parts grow with T, not with T²"},
};

/// Numbers of p, or of ds: one for each pair of query and key.
inline int64_t pair_floats(const Attention& shape) {
  return shape.B * shape.NH * shape.Tq * shape.Tk;
}
/// Tiles of keys of each head, from step 4 on, on this device.
inline int64_t tiles_of_keys(const Attention& shape) {
  return ceil_div(shape.Tk, tile_rows(shape.HS));
}
/// Blocks that bounded_parts launches at a time, if there are so many: enough for any GPU. No
/// constant, for the tests' sake.
inline int64_t blocks_at_a_time = 1024;
/// Tiles of keys of each head that it does at a time.
inline int64_t tiles_at_a_time(const Attention& shape) {
  const int64_t enough = ceil_div(blocks_at_a_time, std::max<int64_t>(1, shape.B * shape.NH_kv));
  return std::max<int64_t>(1, std::min(tiles_of_keys(shape), enough));
}
/// Numbers of the parts of dq from so many tiles of keys.
inline int64_t part_floats(const Attention& shape, int64_t tiles) {
  return tiles * shape.rows() * shape.HS;
}
/// How many bytes of workspace a step needs: for D, and for the pairs or the parts.
inline int64_t workspace_bytes(const Attention& shape, Launcher* step) {
  const auto bytes = [](int64_t floats) { return Workspace::bytes_of<float>(floats); };
  int64_t more = 0;
  if (step == &unfused) more = 2 * bytes(pair_floats(shape));
  if (step == &stored_ds) more = bytes(pair_floats(shape));
  if (step == &five_products) more = bytes(part_floats(shape, tiles_of_keys(shape)));
  if (step == &bounded_parts) more = bytes(part_floats(shape, tiles_at_a_time(shape)));
  return bytes(shape.rows()) + more;
}

// ---- the reference

/// Rows of HS floats of dq, and of dk and dv.
inline int64_t query_rows(const Attention& shape) {
  return shape.rows();
}
inline int64_t key_rows(const Attention& shape) {
  return shape.B * shape.NH_kv * shape.Tk;
}

struct Reference {
  Expected dq, dk, dv;
};
/// What the host knows of a problem.
struct HostTensors {
  std::span<const float> q, k, v, out, dout, lse;
};

/// The gradients in double, with a bound on the error of a float32 kernel; reference.cpp derives
/// it. Of dq the rows `queries` (of B·NH·Tq), of dk and dv the rows `keys` (of B·NH_kv·Tk).
Reference reference(const Attention& shape, const HostTensors& at, std::span<const int64_t> queries,
                    std::span<const int64_t> keys);

}  // namespace tutorial::flash_attention::backward
